/** Deletes stored sessions that a runtime may have live. */

import {
  TurnlogError,
  type BlobStore,
  type DeleteOptions,
  type EventLog,
} from "../../events/index.ts";
import { deleteSession, type DeletedWithBlobs } from "../../media/index.ts";
import { childrenOf, waitsForAnswer } from "../../state/index.ts";
import type { Background } from "../../shared/index.ts";
import type { LiveSession } from "../live/live-session.ts";
import type { LiveSessions } from "../live/live-sessions.ts";

export interface UpkeepHost {
  readonly log: EventLog;
  readonly blobs: BlobStore | undefined;
  readonly live: LiveSessions;
  readonly background: Background;
  readonly onWarning: (error: TurnlogError) => void;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Aborts when the runtime closes. */
  readonly closing: AbortSignal;
}

/**
 * @param tell - Gets the result before another process can take the session.
 * @throws TurnlogError `COMMAND_REFUSED` while a turn runs or waits for an answer
 */
export async function deleteLive(
  session: string,
  options: DeleteOptions,
  host: UpkeepHost,
  tell?: (deleted: DeletedWithBlobs) => Promise<void>,
): Promise<DeletedWithBlobs> {
  const { log, blobs, live, background, onWarning } = host;
  const refusal = ({ actor }: LiveSession): TurnlogError | undefined =>
    actor.isIdle ? undefined : inTurn(session, actor.state.position);
  return await live.whilePassive(session, refusal, async () => {
    if (await waitsForAnswer(log, session)) throw inTurn(session);
    live.forget(session);
    const children: string[] = [];
    for (const child of await childrenOf(log, session)) {
      const deleted = await deleteLive(child, options, host);
      children.push(...deleted.children, child);
    }
    const deleted = await deleteSession(log, blobs, session, options, (why, collect) => {
      if (collect === undefined) return onWarning(why);
      const work = async (): Promise<void> => void (await collect());
      void background.run(work, () => why);
    });
    const result = { ...deleted, children };
    await tell?.(result);
    return result;
  });
}

function inTurn(session: string, position?: number): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is in a turn and was not deleted. Cancel it first (\`session.cancel()\`), or wait until it has ended.`,
    { session, ...(position === undefined ? {} : { position }) },
  );
}
