/** A compaction before it is done: what the prompt would be. Then doing it, or undoing the last one. */

import { useRefusal } from "../chat/composer.tsx";
import { client } from "../data/client.ts";
import type { Preview } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { figure, plural } from "../data/words.ts";
import { Dialog } from "../parts/dialog.tsx";
import { Failure, Loading } from "../parts/loading.tsx";
import type { Seen } from "../shell/seen.ts";
import { PromptMessage } from "../time/prompt-message.tsx";

export function CompactDialog({
  seen,
  movedOn,
  onCompact,
  onRestore,
  onClose,
}: {
  readonly seen: Seen;
  /** Whether this is another preview than the one that the person agreed to. */
  readonly movedOn: boolean;
  readonly onCompact: (previewed: number) => void;
  readonly onRestore: (compaction: number) => void;
  readonly onClose: () => void;
}) {
  const { feed, at, end, reading } = seen;
  const session = client.session(feed.id);
  const { answer, error } = useAsked<Preview>(`${at ?? end} ${reading}`, () => session.preview(at));
  const refusal = useRefusal(seen);
  const last = feed.rows.findLast(({ event }) => event.type === "context.compacted");
  return (
    <Dialog title="Compaction" onClose={onClose} wide>
      {movedOn && (
        <p className="notice" role="status">
          Nothing was compacted: the session has moved on since the preview. This is a new one.
        </p>
      )}
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
      <div className="dialog-foot">
        {last !== undefined && (
          <button type="button" onClick={() => onRestore(last.event.position)}>
            Undo the compaction at {figure(last.event.position)}
          </button>
        )}
        <button
          type="button"
          className="primary"
          title={refusal}
          disabled={refusal !== undefined || answer?.outcome !== "compacted"}
          onClick={() => answer !== undefined && onCompact(answer.position)}
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
