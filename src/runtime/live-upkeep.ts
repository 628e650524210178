/** Changes stored sessions that a runtime may have live: deletes them, and trims their logs. */

import {
  TurnlogError,
  type BlobStore,
  type DeleteOptions,
  type EventLog,
} from "../events/index.ts";
import { deletedSchema, deleteSession, type DeletedWithBlobs } from "../media/index.ts";
import { trimLog, type TrimmedLog, type TrimLogOptions } from "../archive/trim/index.ts";
import { childrenOf, waitsForAnswer } from "../state/index.ts";
import type { StoreLog } from "../store/leveldb/index.ts";
import type { Background } from "./background.ts";
import { readAnswer } from "./forwarded-commands.ts";
import { elsewhereIfNotHere } from "./stored-command.ts";
import type { LiveSession } from "./live-session.ts";
import type { LiveSessions } from "./live-sessions.ts";

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

/** Deletes the session here, or in the process that runs it. */
export async function deleteAnywhere(
  session: string,
  options: DeleteOptions,
  host: UpkeepHost,
): Promise<DeletedWithBlobs> {
  const read = (answer: unknown): DeletedWithBlobs =>
    readAnswer(deletedSchema, session, "delete", answer);
  const command = { name: "delete", args: [options], read };
  return await elsewhereIfNotHere(host.log, session, command, host.closing, () =>
    deleteLive(session, options, host),
  );
}

/** @throws TurnlogError `COMMAND_REFUSED` while the session is in use, and without a store of the runtime's own */
export async function trimLive(
  session: string,
  options: TrimLogOptions,
  store: StoreLog | undefined,
  live: LiveSessions,
): Promise<TrimmedLog> {
  if (store !== undefined)
    return await live.whilePassive(session, inUse, () => trimLog(store, session, options));
  throw new TurnlogError(
    "COMMAND_REFUSED",
    `This runtime was given its log, and nothing of session ${session} was dropped. Call \`trimLog\` with the log, where you opened it, when nobody runs the session.`,
    { session },
  );
}

function inTurn(session: string, position?: number): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is in a turn and was not deleted. Cancel it first (\`session.cancel()\`), or wait until it has ended.`,
    { session, ...(position === undefined ? {} : { position }) },
  );
}

/** A session with watchers is in use too: they would see rows change. */
function inUse({ actor, watchers }: LiveSession): TurnlogError | undefined {
  if (actor.isIdle && watchers.size === 0) return undefined;
  const { session, state } = actor;
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is in use, and nothing of it was dropped. Wait until it is idle, or cancel its turn (\`session.cancel()\`).`,
    { session, position: state.position },
  );
}
