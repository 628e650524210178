/** Retention by choice: drops what old steps of a session need not hold any more, as an event that says so. */

import { z } from "zod";
import { check, flag, oneOf, optionsOf, time } from "../../validation/index.ts";
import {
  TurnlogError,
  type PositionRange,
  type NewEvent,
  type TrimmedContent,
  type TrimRule,
} from "../../events/index.ts";
import { isEncrypted } from "../../store/encryption/index.ts";
import type { StoreLog } from "../../store/leveldb/index.ts";
import { promptEntries, sessionSummary } from "../../projections/index.ts";
import {
  linkOf,
  foldSession,
  initialSessionState,
  type SessionState,
  checkPosition,
} from "../../state/index.ts";
import { toJson } from "../../shared/index.ts";
import { Attempts, beyond, type Attempt, type KeptSteps } from "./old-steps.ts";

/** What is dropped of old steps, and which steps are old. */
export interface TrimLogOptions extends KeptSteps {
  /**
   * `boundaries`: where each delta began and ended, and when; a block is then told in one piece, and
   * everything else is as it was. `reasoning`: what the model thought, with the provider's signatures.
   */
  readonly drop: TrimmedContent;
  /** Also reasoning that the next prompt would have: the model is not shown it any more. Default false. */
  readonly shown?: boolean;
  /** Tells what would be dropped, and drops nothing. Default false. */
  readonly dryRun?: boolean;
  /** Epoch milliseconds. */
  readonly now?: number;
}

/** What was dropped of a session, or would be. */
export interface TrimmedLog {
  readonly session: string;
  readonly drop: TrimmedContent;
  readonly dryRun: boolean;
  /** Old steps that are concerned. */
  readonly steps: number;
  /** Old steps whose reasoning was left in. */
  readonly kept: {
    /** The next prompt has it: `shown` drops it too. */
    readonly shown: number;
    /** The provider's own calls came of it, which could not be sent without. */
    readonly bound: number;
  };
  /** Events that hold less than they did. */
  readonly events: number;
  /** Bytes of their rows, before and after, without compression. */
  readonly before: number;
  readonly after: number;
  /** The session's last position. */
  readonly revision: number;
  /** Whether the bytes are gone from the log's files already; if not, they go as those of a deletion do. False of a dry run. */
  readonly erased: boolean;
}

export const trimLogSchema: z.ZodType = optionsOf<TrimLogOptions>(
  { keepSteps: z.unknown(), before: z.unknown(), shown: flag, dryRun: flag, now: time },
  { drop: oneOf("boundaries", "reasoning") },
);

/**
 * Drops boundaries or reasoning of a session's old steps (default: of all turns but the last). It is
 * said by a `session.thinned` event first; then the rows are written anew. Cut short, the session is
 * as good as before, and calling it again goes on. Positions, text, state, calls, usage and figures
 * stay what they were; a prompt that had dropped reasoning can no longer be checked by its digest.
 * The session must be idle and nobody may run it: {@link Runtime.trimLog} sees to that.
 * Steps that a fork shares with another session are that one's.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT`, `COMMAND_REFUSED` (in the middle of a
 * turn, with a hash chain, or encrypted), `SESSION_HAS_FORKS` (`details.forks` share reasoning that was to be
 * dropped), and what `StoreLog.thin` throws
 */
export async function trimLog(
  log: StoreLog,
  session: string,
  options: TrimLogOptions,
): Promise<TrimmedLog> {
  checkOptions(session, options);
  await checkPosition(log, session);
  const { drop, dryRun = false, shown = false, now = Date.now() } = options;
  const { attempts, state, said, from } = await read(log, session);
  checkIdle(session, state);
  const choice = chosen(drop, shown, attempts.old(options), state, from);
  const known = said.flatMap((rule) => (rule.drop === drop ? rule.spans : []));
  const spans = beyond(choice.spans, known);
  const say: NewEvent<"session.thinned"> = {
    type: "session.thinned",
    time: now,
    data: { drop, spans, ...(shown && drop === "reasoning" ? { shown } : {}) },
  };
  const done = await log.trim(session, {
    expected: state.position,
    dryRun,
    ...(spans.length === 0 ? {} : { say }),
  });
  if (!dryRun && drop === "reasoning" && done.events > 0)
    await keepSummary(log, session, done.revision, state);
  const { events, before, after, revision, erased } = done;
  const { steps, kept } = choice;
  return { session, drop, dryRun, steps, kept, events, before, after, revision, erased };
}

/** Encrypted texts cannot be joined, and reasoning in them has its own way of going. */
function encryptedError(session: string, position: number): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is encrypted from position ${position} on, and nothing of it was dropped. Redact what it shall not hold (\`session.redact\`, \`turnlog redact\`).`,
    { session, position },
  );
}

/** All that is needed of a session, in one reading. */
async function read(
  log: StoreLog,
  session: string,
): Promise<{
  readonly attempts: Attempts;
  readonly state: SessionState;
  readonly said: readonly TrimRule[];
  /** The first position that is its own. */
  readonly from: number;
}> {
  const link = await linkOf(log, session);
  const from = (link?.position ?? 0) + 1;
  const attempts = new Attempts();
  const said: TrimRule[] = [];
  let state = initialSessionState;
  for await (const event of log.read(session)) {
    if (isEncrypted(event)) throw encryptedError(session, event.position);
    state = foldSession(state, event).state;
    attempts.see(event);
    if (event.type === "session.thinned" && event.position >= from) said.push(event.data);
  }
  return { attempts, state, said, from };
}

interface Choice {
  readonly spans: readonly PositionRange[];
  readonly steps: number;
  readonly kept: TrimmedLog["kept"];
}

function chosen(
  drop: TrimmedContent,
  shown: boolean,
  old: readonly Attempt[],
  state: SessionState,
  first: number,
): Choice {
  const own = old.filter(({ to }) => to >= first);
  const nothingKept = { shown: 0, bound: 0 };
  if (drop === "boundaries") {
    const to = own.at(-1)?.to;
    const spans = to === undefined ? [] : [{ from: first, to }];
    return { spans, steps: stepsIn(own), kept: nothingKept };
  }
  const sent = sentSteps(state);
  const reasoning = own.filter(({ reasons }) => reasons);
  const free = reasoning.filter(({ isBound, from }) => !isBound && (shown || !sent.has(from)));
  const kept = {
    shown: stepsIn(reasoning.filter(({ isBound, from }) => !isBound && !shown && sent.has(from))),
    bound: stepsIn(reasoning.filter(({ isBound }) => isBound)),
  };
  const spans = free.map(({ from, to }) => ({ from: Math.max(from, first), to }));
  return { spans, steps: stepsIn(free), kept };
}

function stepsIn(attempts: readonly Attempt[]): number {
  return new Set(attempts.map(({ step }) => step)).size;
}

/** The positions of the attempts at steps that the next prompt tells of. */
function sentSteps({ history, view }: SessionState): ReadonlySet<number> {
  return new Set(
    promptEntries(history, view).flatMap(({ origin }) =>
      origin.kind === "step" ? [origin.position] : [],
    ),
  );
}

/** The list of sessions would otherwise read all of it again: its summary went with the other snapshots. */
async function keepSummary(
  log: StoreLog,
  session: string,
  position: number,
  { summary }: SessionState,
): Promise<void> {
  const { name: projection, version } = sessionSummary;
  await log.saveSnapshot(session, { projection, version, position, state: toJson(summary) });
}

function checkIdle(session: string, { machine, position }: SessionState): void {
  if (machine.matches({ idle: "waiting" }) || machine.matches("closed")) return;
  throw new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is in the middle of a turn, and nothing of it was dropped. Open it and let the turn end, or cancel it.`,
    { session, position },
  );
}

function checkOptions(session: string, options: TrimLogOptions): void {
  check(trimLogSchema, options, "trimLog", { name: "options", session });
  const { keepSteps = 0, before = 0 } = options;
  if (Number.isSafeInteger(keepSteps) && keepSteps >= 0 && Number.isFinite(before)) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `Steps are kept by their number (\`keepSteps\`, a whole number from 0 on) or by time (\`before\`, epoch milliseconds); session ${session} was asked for ${keepSteps} and ${before}.`,
    { session },
  );
}
