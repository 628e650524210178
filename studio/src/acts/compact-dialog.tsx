/** A compaction before it is done: what the prompt would be. Then doing it, or undoing the last one. */

import { useState } from "react";
import { client, messageOf } from "../data/client.ts";
import type { Preview } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { figure, plural } from "../data/words.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Failure, Loading } from "../parts/loading.tsx";
import type { Seen } from "../shell/seen.ts";
import { PromptMessage } from "../time/prompt-message.tsx";

export function CompactDialog({
  seen,
  onClose,
}: {
  readonly seen: Seen;
  readonly onClose: () => void;
}) {
  const { feed, at, end } = seen;
  const session = client.session(feed.id);
  const { answer, error } = useAsked<Preview>(`${feed.id} ${at ?? end}`, () => session.preview(at));
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const last = feed.rows.findLast(({ event }) => event.type === "context.compacted");
  const act = async (work: () => Promise<unknown>): Promise<void> => {
    setBusy(true);
    try {
      await work();
      onClose();
    } catch (problem) {
      setFailure(messageOf(problem));
      setBusy(false);
    }
  };
  return (
    <Dialog title="Compaction" onClose={onClose} wide>
      {error !== undefined && <Failure title="No preview" message={error} />}
      {answer === undefined && error === undefined && <Loading words="Planning…" />}
      {answer !== undefined && (
        <>
          <p className="verdict">
            {outcomes[answer.outcome]}
            {answer.outcome === "compacted" &&
              ` ${figure(answer.beforeTokens)} → ${figure(answer.afterTokens)} tokens, ${saved(answer)} % less.`}
          </p>
          <p className="dim">
            By {answer.strategy}, at position {figure(answer.position)}. The prompt would be{" "}
            {plural(answer.prompt.length, "message")}:
          </p>
          <ol className="messages preview">
            {answer.prompt.map((message, index) => (
              <li key={index}>
                <PromptMessage message={message} index={index} />
              </li>
            ))}
          </ol>
        </>
      )}
      {failure !== undefined && (
        <p className="error" role="alert">
          {failure}
        </p>
      )}
      <div className="dialog-foot">
        {last !== undefined && (
          <button
            type="button"
            disabled={isBusy}
            onClick={() => void act(() => session.restore(last.event.position))}
          >
            Undo the compaction at {figure(last.event.position)}
          </button>
        )}
        <button
          type="button"
          className="primary"
          disabled={isBusy || answer?.outcome !== "compacted"}
          onClick={() => void act(() => session.compact())}
        >
          Compact now
        </button>
      </div>
    </Dialog>
  );
}

const outcomes: Readonly<Record<Preview["outcome"], string>> = {
  compacted: "A compaction here makes the prompt shorter:",
  "nothing-to-gain": "Nothing to gain: a compaction here saves less than a tenth of the prompt.",
  failed: "The strategy fails here.",
};

function saved({ beforeTokens, afterTokens }: Preview): number {
  return beforeTokens === 0 ? 0 : Math.round((1 - afterTokens / beforeTokens) * 100);
}
