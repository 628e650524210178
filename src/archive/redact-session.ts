/** Redacts content of a session for good: finds out what goes together, says so, and has its keys erased. */

import { check, optionsOf, text, time } from "../validation/index.ts";
import { asEncrypted } from "../store/encryption/index.ts";
import {
  isRedacted,
  TurnlogError,
  type EventLog,
  type PositionRange,
  type SessionEvent,
} from "../events/index.ts";
import { acceptedAt } from "../projections/index.ts";
import {
  linkOf,
  foldSession,
  initialSessionState,
  type SessionState,
  checkPosition,
  readSessionState,
} from "../state/index.ts";
import { ownerOf } from "./fork-session.ts";
import { rangesOf, RedactionUnits, type ContentEvent } from "./redaction-units.ts";

/** A position, or a stretch with both ends included. */
export type RedactionTarget = number | PositionRange;

/** What is said of a redaction. */
export interface RedactOptions {
  /** Why: kept as content of the event that says it. */
  readonly reason?: string;
}

/** The same for a log that no runtime has. */
export interface RedactSessionOptions extends RedactOptions {
  /** Epoch milliseconds. */
  readonly now?: number;
}

/** What was redacted. */
export interface Redacted {
  readonly session: string;
  /** Where the event stands that says it; undefined where all of it had been redacted before. */
  readonly position?: number;
  /** All that went, which may be more than was asked for: whole blocks, whole calls. */
  readonly ranges: readonly PositionRange[];
  /** Summaries that cover some of it and may repeat it: to be looked at, and redacted too. */
  readonly summaries: readonly number[];
}

const schema = optionsOf<RedactSessionOptions>({ reason: text, now: time }, {});

/**
 * Redacts what stands at positions of a session that nobody runs: says so in an event, and erases the
 * keys of that content. A block of text or reasoning goes with all of its deltas, a call with its input,
 * its outcome and what people were asked. What was redacted before is left as it is.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` (no such position, nothing said there),
 * `COMMAND_REFUSED` (the log or that content is not encrypted; a turn is not over; a message or a
 * call waits; another session wrote it, which `details.owner` names), `KEY_MISSING`, and as `append`
 */
export async function redactSession(
  log: EventLog,
  session: string,
  what: readonly RedactionTarget[],
  options: RedactSessionOptions = {},
): Promise<Redacted> {
  check(schema, options, "redactSession", { name: "options", session });
  const { reason, now = Date.now() } = options;
  const encrypted = asEncrypted(log);
  if (encrypted === undefined) {
    throw refused(
      session,
      "nothing in it can be redacted: its log is not encrypted. Open it with `encryption: { keys }`, from when on what is said can be redacted; what was said before goes with the whole session (`delete`)",
    );
  }
  for (const target of what) {
    await checkPosition(log, session, typeof target === "number" ? target : target.from);
    if (typeof target !== "number") await checkPosition(log, session, target.to);
  }
  const { contents, state, summaries } = await survey(log, session);
  if (!state.machine.matches("idle") && !state.machine.matches("closed")) {
    throw refused(session, "it is in the middle of a turn. Open it, and cancel it or wait");
  }
  const isAsked = ({ position }: ContentEvent): boolean =>
    what.some((one) =>
      typeof one === "number" ? one === position : one.from <= position && position <= one.to,
    );
  const units = new Set(contents.filter(isAsked).map(({ unit }) => unit));
  const asked = contents.filter((one) => units.has(one.unit) && one.hasContent);
  if (asked.length === 0) throw nothingSaid(session);
  const gone = asked.filter((one) => !one.isRedacted);
  await assertErasable(log, session, gone, state);
  const ranges = rangesOf(gone.map(({ position }) => position));
  const retold = summaries.filter(
    ({ position, data: { covers } }) =>
      asked.some(({ place }) => covers.from <= place && place <= covers.to) &&
      !gone.some((one) => one.position === position),
  );
  const redacted = { session, ranges, summaries: retold.map(({ position }) => position) };
  if (ranges.length === 0) return redacted;
  const said = { ranges, ...(reason === undefined ? {} : { reason }) };
  const { revision } = await encrypted.erase(session, said, now);
  return { ...redacted, position: revision };
}

interface Survey {
  readonly contents: readonly ContentEvent[];
  readonly state: SessionState;
  readonly summaries: readonly SessionEvent<"context.compacted">[];
}

async function survey(log: EventLog, session: string): Promise<Survey> {
  const units = new RedactionUnits();
  const contents: ContentEvent[] = [];
  const delivered = new Map<string, number>();
  const queued = new Map<number, string>();
  const summaries: SessionEvent<"context.compacted">[] = [];
  let state = initialSessionState;
  for await (const event of log.read(session)) {
    state = foldSession(state, event).state;
    contents.push(units.unit(event));
    if (event.type === "message.queued") queued.set(event.position, event.data.id);
    if (event.type === "message.delivered")
      for (const id of event.data.ids) delivered.set(id, event.position);
    // One that is gone says nothing again.
    const tells = event.type === "context.compacted" && !isRedacted(event);
    if (tells && event.data.summary !== "") summaries.push(event);
  }
  const placed = contents.map((one) => {
    const place = delivered.get(queued.get(one.position) ?? "");
    return place === undefined ? one : { ...one, place };
  });
  return { contents: placed, state, summaries };
}

async function assertErasable(
  log: EventLog,
  session: string,
  gone: readonly ContentEvent[],
  state: SessionState,
): Promise<void> {
  const shared = (await linkOf(log, session))?.position ?? 0;
  for (const { position, isSealed, type } of gone) {
    if (!isSealed) {
      throw refused(
        session,
        `what it says at ${position} (${type}) was written without encryption and has no key to be erased. It goes with the whole session (\`delete\`)`,
        position,
      );
    }
    if (position > shared) continue;
    const owner = await ownerOf(log, session, position);
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} was not redacted: what stands at ${position} was said in ${owner.session}, which it shares. Redact it there, and it is gone from both.`,
      { session, position, details: { owner: owner.session } },
    );
  }
  assertOver(session, gone, state);
  for await (const fork of forksOf(log, session))
    assertOver(fork, gone, await readSessionState(log, fork));
}

/** Nothing may be done yet with what is gone: a tool would be given nothing, or the model no message. */
function assertOver(
  session: string,
  gone: readonly ContentEvent[],
  { toolCalls, queue }: SessionState,
): void {
  for (const { position, call } of gone) {
    const isOpen = toolCalls.open.some(
      ({ step, callId }) => step === call?.step && callId === call.callId,
    );
    if (isOpen)
      throw refused(session, `call ${call?.callId} has not ended. Answer it first`, position);
    if (queue.waiting.some(({ id }) => acceptedAt(queue, id) === position))
      throw refused(session, `the message at ${position} waits. Withdraw it first`, position);
  }
}

/** Sessions that branch off another one, however far. */
async function* forksOf(log: EventLog, session: string): AsyncGenerator<string> {
  const links = new Map<string, string>();
  for await (const { session: name, forkedFrom } of log.list())
    if (forkedFrom !== undefined) links.set(name, forkedFrom.session);
  for (const name of links.keys()) {
    let at = links.get(name);
    while (at !== undefined && at !== session) at = links.get(at);
    if (at === session) yield name;
  }
}

function nothingSaid(session: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} says nothing there that could be redacted: name the position of a message, a block, a call or its outcome. \`turnlog show ${session} --view events\` lists them.`,
    { session },
  );
}

function refused(session: string, why: string, position?: number): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} was not redacted: ${why}.`,
    position === undefined ? { session } : { session, position },
  );
}
