/** Deletes and redacts stored sessions that a runtime may have live. */

import { defined, TurnlogError, type BlobStore, type EventLog } from "../../events/index.ts";
import {
  cancellation,
  deletion,
  type CancelOptions,
  type Command,
  type DeletionOptions,
} from "../../commands/index.ts";
import { deletedSchema, deleteSession, type DeletedWithBlobs } from "../../media/index.ts";
import { childrenToDelete, waitsForAnswer, linkOf } from "../../state/index.ts";
import type { Background } from "../../shared/index.ts";
import type { BillModel } from "../figures/bill-model.ts";
import type { LiveSession } from "../live/live-session.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import { setImmediate } from "node:timers/promises";
import type { SnapshotWriter } from "../session/snapshot-writer.ts";
import type { SessionActor } from "../session/actor.ts";
import {
  forksOf,
  redactSession,
  type Redacted,
  type RedactionTarget,
  type RedactOptions,
  type RedactSessionOptions,
} from "../../archive/index.ts";

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
  for (const child of await childrenToDelete(log, session, options.forks)) {
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
    `Session ${session} is in a turn and was not deleted. Wait until it has ended, or delete it with \`cancel: true\` (\`--cancel\`).`,
    { session, ...(position === undefined ? {} : { position }) },
  );
}

// Redacts a session of a running runtime. First passivates all that hold the content in memory: the session and
// those that share its events. No session may be activated until it is done.

interface Holder {
  readonly actor: SessionActor;
  readonly snapshots: SnapshotWriter;
}

interface LiveRedactionOptions<Live extends Holder> extends RedactSessionOptions {
  readonly log: EventLog;
  readonly live: ReadonlyMap<string, Promise<Live>>;
  /** Resolves when the session is given back. */
  readonly passivate: (holder: Live) => Promise<void>;
  /** Runs the change while no other process can take the session. */
  readonly claimed: <Result>(session: string, change: () => Promise<Result>) => Promise<Result>;
}

type RedactionHost = Pick<UpkeepHost, "log" | "live" | "clock" | "closing">;

/** @throws TurnlogError as `Session.redact`, and `SESSION_ELSEWHERE` */
export async function redactHere(
  session: string,
  what: readonly RedactionTarget[],
  options: RedactOptions,
  { log, live: sessions, clock }: RedactionHost,
): Promise<Redacted> {
  return await sessions.whileInactive(session, (live, passivate) =>
    redactLive(session, what, {
      ...options,
      log,
      now: clock(),
      live,
      passivate,
      claimed: (...change) => sessions.claimed(...change),
    }),
  );
}

/** @throws TurnlogError as `Session.redact` */
async function redactLive<Live extends Holder>(
  session: string,
  what: readonly RedactionTarget[],
  { log, live, passivate, claimed, ...options }: LiveRedactionOptions<Live>,
): Promise<Redacted> {
  const holders: Live[] = [];
  for (const [name, activation] of live) {
    if (!(await shares(log, name, session))) continue;
    // A session whose activation fails holds nothing in memory.
    const holder = await activation.catch(() => undefined);
    if (holder !== undefined) holders.push(holder);
  }
  for (const { snapshots, actor } of holders) {
    await snapshots.stored;
    if (actor.failure === undefined) await actor.durable();
  }
  // Commands that already hold an actor record their events first.
  await setImmediate();
  for (const { actor } of holders) {
    if (actor.isIdle || actor.failure !== undefined) continue;
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} was not redacted: a turn of ${actor.session} is using the content. Cancel that turn first, or wait until it has ended.`,
      { session, position: actor.state.position },
    );
  }
  await Promise.all(holders.map((holder) => passivate(holder)));
  await assertNotElsewhere(log, session);
  return await claimed(session, () => redactSession(log, session, what, options));
}

/**
 * A process that takes a fork later reads its keys again, but a process that runs it now has the content in
 * memory.
 */
async function assertNotElsewhere(log: EventLog, session: string): Promise<void> {
  const taken = await log.ownership?.taken?.();
  if (taken === undefined) return;
  for await (const fork of forksOf(log, session)) {
    if (!taken.has(fork)) continue;
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} was not redacted: another process runs its fork ${fork} and has the content in memory. Repeat the call when that process has given the fork back: after \`idleAfterMs\` at rest, or when it closes.`,
      { session, details: { fork } },
    );
  }
}

async function shares(log: EventLog, name: string, session: string): Promise<boolean> {
  for (let origin: string | undefined = name; origin !== undefined;) {
    if (origin === session) return true;
    origin = (await linkOf(log, origin))?.session;
  }
  return false;
}
