/** Redacts content of a stored session: records an event and erases the keys of that content. */

import { check, name, optionsOf, text, time } from "../validation/index.ts";
import { asEncrypted, hasContent } from "../store/encryption/index.ts";
import {
  shellWord,
  isRedacted,
  TurnlogError,
  type EventLog,
  type PositionRange,
  type SessionEvent,
  isEncryptedInLog,
} from "../events/index.ts";
import { acceptedAt, allWaiting } from "../projections/index.ts";
import {
  linkOf,
  foldSession,
  initialSessionState,
  type SessionState,
  checkPosition,
  readSessionState,
} from "../state/index.ts";
import { ownerOf } from "./fork-session.ts";

export type RedactionTarget = number | PositionRange;

export interface RedactOptions {
  /** The reason, recorded in `session.redacted`. */
  readonly reason?: string;
  /** The name of the person who redacts, for the log. */
  readonly by?: string;
}

export interface RedactSessionOptions extends RedactOptions {
  /** Epoch milliseconds. */
  readonly now?: number;
}

export interface Redacted {
  readonly session: string;
  /** Position of `session.redacted`; undefined if all of the content was redacted before. */
  readonly position?: number;
  /** The redacted positions: whole blocks and whole calls, so possibly more than the requested ones. */
  readonly ranges: readonly PositionRange[];
  /** Positions of summaries that cover redacted content and may repeat it: check and redact them too. */
  readonly summaries: readonly number[];
}

const schema = optionsOf<RedactSessionOptions>({ reason: text, by: name, now: time }, {});

/** Redacts content of a session that is not running. @throws TurnlogError as `Session.redact` */
export async function redactSession(
  log: EventLog,
  session: string,
  what: readonly RedactionTarget[],
  options: RedactSessionOptions = {},
): Promise<Redacted> {
  check(schema, options, "redactSession", { name: "options", session });
  const { reason, by, now = Date.now() } = options;
  const encrypted = asEncrypted(log);
  if (encrypted === undefined) {
    throw refused(
      session,
      "its log is not encrypted, so it has no keys to erase. Open it with `encryption: { keys }`: content written from then on can be redacted. Earlier content can only be deleted with the whole session (`delete`)",
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
  if (asked.length === 0) throw noContent(session);
  const erased = asked.filter((one) => !one.isRedacted);
  await assertErasable(log, session, erased, state);
  const ranges = rangesOf(erased.map(({ position }) => position));
  const covering = summaries.filter(
    ({ position, data: { covers } }) =>
      asked.some(({ place }) => covers.from <= place && place <= covers.to) &&
      !erased.some((one) => one.position === position),
  );
  const redacted = { session, ranges, summaries: covering.map(({ position }) => position) };
  if (ranges.length === 0) return redacted;
  const why = reason === undefined ? {} : { reason };
  const data = { ranges, ...why, ...(by === undefined ? {} : { by }) };
  const { revision } = await encrypted.erase(session, data, now);
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
    const isSummary = event.type === "context.compacted" && !isRedacted(event);
    if (isSummary && event.data.summary !== "") summaries.push(event);
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
  erased: readonly ContentEvent[],
  state: SessionState,
): Promise<void> {
  const shared = (await linkOf(log, session))?.position ?? 0;
  for (const { position, isEncrypted, type } of erased) {
    if (!isEncrypted) {
      throw refused(
        session,
        `the content at ${position} (${type}) was written without encryption and has no key to erase. Only deleting the whole session (\`delete\`) removes it`,
        position,
      );
    }
    if (position > shared) continue;
    const owner = await ownerOf(log, session, position);
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} was not redacted: it shares the content at ${position} with ${owner.session}, which wrote it. Redact it there, which redacts both.`,
      { session, position, details: { owner: owner.session } },
    );
  }
  assertNotPending(session, erased, state);
  for await (const fork of forksOf(log, session))
    assertNotPending(fork, erased, await readSessionState(log, fork));
}

function assertNotPending(
  session: string,
  erased: readonly ContentEvent[],
  { toolCalls, queue }: SessionState,
): void {
  for (const { position, call } of erased) {
    const isOpen = toolCalls.open.some(
      ({ step, callId }) => step === call?.step && callId === call.callId,
    );
    if (isOpen)
      throw refused(session, `call ${call?.callId} has not ended. Answer it first`, position);
    if (allWaiting(queue).some(({ id }) => acceptedAt(queue, id) === position))
      throw refused(session, `the message at ${position} waits. Withdraw it first`, position);
  }
}

/** The forks of a session, and theirs. */
export async function* forksOf(log: EventLog, session: string): AsyncGenerator<string> {
  const links = new Map<string, string>();
  for await (const { session: fork, forkedFrom } of log.list())
    if (forkedFrom !== undefined) links.set(fork, forkedFrom.session);
  for (const fork of links.keys()) {
    let ancestor = links.get(fork);
    while (ancestor !== undefined && ancestor !== session) ancestor = links.get(ancestor);
    if (ancestor === session) yield fork;
  }
}

function noContent(session: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `Session ${session} has no content there to redact: name the position of a message, a block, a call or its outcome. \`turnlog show ${shellWord(session)} --view events\` lists them.`,
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

// Groups events that are redacted together: a block with its deltas; a call with its input, approval and
// outcome. Any other event is a unit alone. Pure.

interface ContentEvent {
  readonly position: number;
  /** The position by which a compaction covers it: the start of its step, or the delivery of a message. */
  readonly place: number;
  readonly type: SessionEvent["type"];
  readonly unit: string;
  readonly call?: { readonly step: number; readonly callId: string };
  readonly hasContent: boolean;
  readonly isEncrypted: boolean;
  readonly isRedacted: boolean;
}

/** Takes the events of a session in order and answers the unit of each. */
class RedactionUnits {
  #step = 0;
  /** Position of the last attempt at each step. */
  readonly #attempts = new Map<number, number>();
  /** Position at which the newest block of an id began: providers reuse ids. */
  readonly #blocks = new Map<string, number>();

  #lastText: string | undefined;

  unit(event: SessionEvent): ContentEvent {
    const call = this.#callOf(event);
    const unit =
      call === undefined
        ? (this.#blockOf(event) ?? `event ${event.position}`)
        : `call ${this.#attempts.get(call.step) ?? 0} ${call.callId}`;
    return {
      position: event.position,
      place: this.#placeOf(event, call?.step),
      type: event.type,
      unit,
      ...(call === undefined ? {} : { call }),
      hasContent: hasContent(event),
      isEncrypted: isEncryptedInLog(event),
      isRedacted: isRedacted(event),
    };
  }

  #placeOf({ type, position }: SessionEvent, step = this.#step): number {
    const isOfStep = type.startsWith("part.") || type.startsWith("tool.");
    return (isOfStep ? this.#attempts.get(step) : undefined) ?? position;
  }

  #callOf(event: SessionEvent): ContentEvent["call"] {
    switch (event.type) {
      case "step.started":
        this.#step = event.data.step;
        this.#attempts.set(event.data.step, event.position);
        return undefined;
      case "part.tool-input-start":
      case "part.tool-input-delta":
      case "part.tool-input-end":
        return { step: this.#step, callId: event.data.id };
      case "part.tool-call":
      case "part.tool-result":
      case "part.tool-error":
      case "part.tool-approval-request":
        return { step: this.#step, callId: event.data.toolCallId };
      case "tool.approval-requested":
      case "tool.approval-answered":
      case "tool.output-requested":
      case "tool.started":
      case "tool.progressed":
      case "tool.succeeded":
      case "tool.failed":
      case "tool.denied":
      case "tool.skipped":
      case "tool.unknown":
        return { step: event.data.step, callId: event.data.callId };
      default:
        return undefined;
    }
  }

  #blockOf({ type, position, data }: SessionEvent): string | undefined {
    switch (type) {
      case "part.text-start":
      case "part.text-delta":
      case "part.text-end":
      case "part.reasoning-start":
      case "part.reasoning-delta":
      case "part.reasoning-end": {
        const kind = type.startsWith("part.text") ? "text" : "reasoning";
        const name = `${this.#attempts.get(this.#step) ?? 0} ${kind} ${data.id}`;
        if (type.endsWith("-start")) this.#blocks.set(name, position);
        const block = `block ${name} ${this.#blocks.get(name) ?? 0}`;
        if (kind === "text") this.#lastText = block;
        return block;
      }
      case "turn.ended":
        // The structured output repeats the text.
        return "output" in data ? this.#lastText : undefined;
      default:
        return undefined;
    }
  }
}

function rangesOf(positions: readonly number[]): readonly PositionRange[] {
  const ranges: PositionRange[] = [];
  for (const position of positions) {
    const last = ranges.at(-1);
    if (last?.to === position - 1) ranges[ranges.length - 1] = { from: last.from, to: position };
    else ranges.push({ from: position, to: position });
  }
  return ranges;
}
