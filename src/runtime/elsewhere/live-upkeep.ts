/** Deletes stored sessions that a runtime may have live. */

import { defined, TurnlogError, type BlobStore, type EventLog } from "../../events/index.ts";
import {
  cancellation,
  deletion,
  type CancelOptions,
  type Command,
  type DeletionOptions,
} from "../../commands/index.ts";
import { deletedSchema, deleteSession, type DeletedWithBlobs } from "../../media/index.ts";
import { childrenOf, waitsForAnswer } from "../../state/index.ts";
import type { Background } from "../../shared/index.ts";
import type { BillModel } from "../figures/bill-model.ts";
import type { LiveSession } from "../live/live-session.ts";
import type { LiveSessions } from "../live/live-sessions.ts";

export interface UpkeepHost {
  readonly log: EventLog;
  readonly blobs: BlobStore | undefined;
  readonly live: LiveSessions;
  readonly bill: BillModel;
  readonly background: Background;
  readonly onWarning: (error: TurnlogError) => void;
  /** Gives a command to a session, wherever it runs. */
  readonly give: (session: string, command: Command, args: readonly unknown[]) => Promise<unknown>;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Aborts when the runtime closes. */
  readonly closing: AbortSignal;
}

/**
 * @param tell - Gets the result before another process can take the session.
 * @throws TurnlogError `COMMAND_REFUSED` while a turn runs or waits for an answer, without `cancel`
 */
export async function deleteLive(
  session: string,
  options: DeletionOptions,
  host: UpkeepHost,
  tell?: (deleted: DeletedWithBlobs) => Promise<void>,
): Promise<DeletedWithBlobs> {
  const { log, live, give } = host;
  const { cancel: mayCancel = false, by } = options;
  for (;;) {
    // Elsewhere nothing runs in it: a process that runs the session deletes it itself.
    if (mayCancel && live.isLive(session)) {
      const cancelling: CancelOptions = { reason: "the session is deleted", withdraw: true };
      await give(session, cancellation, [{ ...cancelling, ...defined({ by }) }]);
    }
    let begunAgain = false;
    const refusal = ({ actor }: LiveSession): TurnlogError | undefined => {
      if (actor.isIdle) return undefined;
      begunAgain = true;
      return inTurn(session, actor.state.position);
    };
    try {
      return await live.whilePassive(session, refusal, async () => {
        if (!mayCancel && (await waitsForAnswer(log, session))) throw inTurn(session);
        return await deletePassive(session, options, host, tell);
      });
    } catch (error) {
      // A message came after the cancel.
      if (!mayCancel || !begunAgain) throw error;
    }
  }
}

async function deletePassive(
  session: string,
  options: DeletionOptions,
  { log, blobs, live, bill, background, onWarning, give }: UpkeepHost,
  tell?: (deleted: DeletedWithBlobs) => Promise<void>,
): Promise<DeletedWithBlobs> {
  live.forget(session);
  const children: string[] = [];
  for (const child of await childrenOf(log, session)) {
    const deleted = deletedSchema.parse(await give(child, deletion, [options]));
    children.push(...deleted.children, child);
  }
  const { forks, by, bill: kept = "keep" } = options;
  const spent = kept === "keep" ? await bill.left(session) : undefined;
  const stored = defined({ forks, by, spent });
  const deleted = await deleteSession(log, blobs, session, stored, (why, collect) => {
    if (collect === undefined) return onWarning(why);
    const work = async (): Promise<void> => void (await collect());
    void background.run(work, () => why);
  });
  if (kept === "forget") await bill.forget();
  const result = { ...deleted, children };
  await tell?.(result);
  return result;
}

function inTurn(session: string, position?: number): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is in a turn and was not deleted. Wait until it has ended, or delete it with \`cancel: true\`.`,
    { session, ...(position === undefined ? {} : { position }) },
  );
}
