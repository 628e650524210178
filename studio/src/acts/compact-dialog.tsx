/** A compaction before it is done: what the prompt would be. Then doing it, or undoing the last one. */

import { useState } from "react";
import { client, messageOf } from "../data/client.ts";
import type { Preview } from "../data/types.ts";
import { useAsked } from "../data/use-asked.ts";
import { figure } from "../data/words.ts";
import { Dialog } from "../parts/dialog.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { Failure, Loading } from "../parts/loading.tsx";
import type { Seen } from "../shell/seen.ts";

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
  const sizes = answer === undefined ? undefined : sizesOf(answer);
  return (
    <Dialog title="Compaction" onClose={onClose} wide>
      {error !== undefined && <Failure title="No preview" message={error} />}
      {answer === undefined && error === undefined && <Loading words="Planning…" />}
      {answer !== undefined && (
        <>
          <p className="verdict">
            {answer.outcome}
            {sizes !== undefined && `: ${figure(sizes.before)} → ${figure(sizes.after)} tokens`}
          </p>
          <JsonView value={answer} openTo={1} />
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
            Undo the one at {figure(last.event.position)}
          </button>
        )}
        <button
          type="button"
          className="primary"
          disabled={isBusy}
          onClick={() => void act(() => session.compact())}
        >
          Compact now
        </button>
      </div>
    </Dialog>
  );
}

function sizesOf(
  preview: Preview,
): { readonly before: number; readonly after: number } | undefined {
  if (!("beforeTokens" in preview && "afterTokens" in preview)) return undefined;
  const { beforeTokens: before, afterTokens: after } = preview;
  return typeof before === "number" && typeof after === "number" ? { before, after } : undefined;
}
