/** Trims one stored session: drops delta boundaries or reasoning of old steps, and records that. */

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
import { Attempts, difference, type Attempt, type KeptSteps } from "./old-steps.ts";

export interface TrimLogOptions extends KeptSteps {
  /**
   * `boundaries`: the boundaries and times of deltas; each block becomes one delta. `reasoning`: the reasoning
   * of the model, with the provider's signatures.
   */
  readonly drop: TrimmedContent;
  /** Also drop reasoning that the next prompt contains; the model no longer sees it. Default: false. */
  readonly shown?: boolean;
  /** Report what would be dropped and change nothing. Default: false. */
  readonly dryRun?: boolean;
  /** Epoch milliseconds. */
  readonly now?: number;
}

export interface TrimmedLog {
  readonly session: string;
  readonly drop: TrimmedContent;
  readonly dryRun: boolean;
  readonly steps: number;
  /** Number of old steps whose reasoning stays. */
  readonly kept: {
    /** Because the next prompt contains it; `shown: true` drops it too. */
    readonly shown: number;
    /** Because calls that the provider ran cannot be sent without it. */
    readonly bound: number;
  };
  readonly events: number;
  /** Uncompressed bytes of their rows, before and after. */
  readonly before: number;
  readonly after: number;
  readonly revision: number;
  /** False if compaction removes the bytes from the files later, and for a dry run. */
  readonly erased: boolean;
}

export const trimLogSchema: z.ZodType = optionsOf<TrimLogOptions>(
  { keepSteps: z.unknown(), before: z.unknown(), shown: flag, dryRun: flag, now: time },
  { drop: oneOf("boundaries", "reasoning") },
);

export async function trimLog(
  log: StoreLog,
  session: string,
  options: TrimLogOptions,
): Promise<TrimmedLog> {
  checkOptions(session, options);
  await checkPosition(log, session);
  const { drop, dryRun = false, shown = false, now = Date.now() } = options;
  const { attempts, state, rules, from } = await read(log, session);
  checkIdle(session, state);
  const choice = chooseSpans(drop, shown, attempts.old(options), state, from);
  const known = rules.flatMap((rule) => (rule.drop === drop ? rule.spans : []));
  const spans = difference(choice.spans, known);
  const say: NewEvent<"session.thinned"> = {
    type: "session.thinned",
    time: now,
    data: { drop, spans, ...(shown && drop === "reasoning" ? { shown } : {}) },
  };
  const done = await log.trim(session, {
    expected: state.position,
    dryRun,
    ...(spans.length === 0 ? {} : { event: say }),
  });
  if (!dryRun && drop === "reasoning" && done.events > 0)
    await keepSummary(log, session, done.revision, state);
  const { events, before, after, revision, erased } = done;
  const { steps, kept } = choice;
  return { session, drop, dryRun, steps, kept, events, before, after, revision, erased };
}

/** Encrypted deltas cannot be joined, and encrypted reasoning can be redacted. */
function encryptedError(session: string, position: number): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} is encrypted from position ${position} on, and nothing was dropped. Redact content instead (\`session.redact\`, \`turnlog redact\`).`,
    { session, position },
  );
}

/** Reads the session once. */
async function read(
  log: StoreLog,
  session: string,
): Promise<{
  readonly attempts: Attempts;
  readonly state: SessionState;
  readonly rules: readonly TrimRule[];
  /** The first position that it does not share. */
  readonly from: number;
}> {
  const link = await linkOf(log, session);
  const from = (link?.position ?? 0) + 1;
  const attempts = new Attempts();
  const rules: TrimRule[] = [];
  let state = initialSessionState;
  for await (const event of log.read(session)) {
    if (isEncrypted(event)) throw encryptedError(session, event.position);
    state = foldSession(state, event).state;
    attempts.fold(event);
    if (event.type === "session.thinned" && event.position >= from) rules.push(event.data);
  }
  return { attempts, state, rules, from };
}

interface Choice {
  readonly spans: readonly PositionRange[];
  readonly steps: number;
  readonly kept: TrimmedLog["kept"];
}

function chooseSpans(
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
  const reasoning = own.filter(({ hasReasoning }) => hasReasoning);
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

function sentSteps({ history, view }: SessionState): ReadonlySet<number> {
  return new Set(
    promptEntries(history, view).flatMap(({ origin }) =>
      origin.kind === "step" ? [origin.position] : [],
    ),
  );
}

/** Trimming deletes all snapshots; without its summary the list of sessions would read the whole log. */
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
    `Session ${session} is in the middle of a turn, and nothing was dropped. Open it and let the turn end, or cancel it.`,
    { session, position },
  );
}

function checkOptions(session: string, options: TrimLogOptions): void {
  check(trimLogSchema, options, "trimLog", { name: "options", session });
  const { keepSteps = 0, before = 0 } = options;
  if (Number.isSafeInteger(keepSteps) && keepSteps >= 0 && Number.isFinite(before)) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `\`keepSteps\` must be a whole number from 0 on and \`before\` a time in epoch milliseconds; got ${keepSteps} and ${before} for session ${session}.`,
    { session },
  );
}
