/**
 * A session as a fixture: a file that is small, can be read and shown to others, and replays.
 * Ids are short, times begin at a fixed moment, secrets and home folders are gone. The digests of
 * prompts are made anew by the same folds that made them: a fixture keeps every law.
 */

import { check, list, optionsOf, text } from "../../validation/index.ts";
import {
  eventLine,
  headerLine,
  renumbered,
  TurnlogError,
  unchained,
  type EventLog,
  type JsonValue,
  type SessionEvent,
} from "../../events/index.ts";
import { promptDigest, promptMessages } from "../../projections/index.ts";
import { foldSession, initialSessionState, checkPosition } from "../../state/index.ts";
import { fixtureNames } from "./fixture-names.ts";
import { FIXTURE, fixtureSessions } from "./fixture-sessions.ts";
import { readSessionFile } from "./import-session.ts";
import { redactedValue } from "./redacted-value.ts";
import { Redaction } from "./redaction.ts";

/** What is taken out of a fixture beside what always is. */
export interface FixtureOptions {
  /** What else is taken out; each match becomes `[redacted]`. */
  readonly redact?: readonly RegExp[];
  /** A home folder, which becomes `~`. Those in `/home`, `/Users` and `C:\Users` do anyway. */
  readonly home?: string;
}

/** 1 January 2026: when every fixture begins. */
const BEGIN = Date.UTC(2026, 0, 1);

const schema = optionsOf<FixtureOptions>({ redact: list, home: text }, {});

/**
 * The lines of a fixture, without their ends, for `readSessionFile`, `importSession` and `replay`.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `EVENT_INVALID` where what is taken out leaves something
 * that is no session any more, and what `EventLog.read` throws
 */
export async function exportFixture(
  log: EventLog,
  session: string,
  options: FixtureOptions = {},
): Promise<readonly string[]> {
  check(schema, options, "exportFixture", { name: "options", session });
  const { redact = [], home } = options;
  await checkPosition(log, session);
  const recorded = unchained(await Array.fromAsync(log.read(session)));
  const { secretRules } = await import("./secrets/index.ts");
  const redaction = new Redaction({ rules: await secretRules(), own: redact, home });
  const renamed = named(recorded);
  // Twice: what has a name beside it in one place may have none in another.
  redacted(renamed, redaction);
  redaction.rememberFound();
  const events = withDigests(placed(redacted(renamed, redaction)));
  const fixture = { redacted: [...redaction.applied].toSorted() };
  const header = headerLine({ session: FIXTURE, events: events.length, fixture });
  const lines = [header, ...events.map(eventLine)];
  try {
    await readSessionFile(lines);
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    throw new TurnlogError(
      "EVENT_INVALID",
      `Session ${session} makes no fixture: ${error.message} Narrow what is to be taken out, or see what "turnlog verify ${session}" says.`,
      { session, cause: error },
    );
  }
  return lines;
}

/** An event with other data, which the file's reader parses again. */
function withData(event: SessionEvent, data: unknown): SessionEvent {
  // Whatever it has become, the whole file is parsed before it is handed out.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...event, data } as SessionEvent;
}

function named(events: readonly SessionEvent[]): readonly SessionEvent[] {
  const names = fixtureNames(events);
  const sessions = fixtureSessions(events);
  const rename = (text: string): string => names.get(text) ?? text;
  return events.map((event) => {
    const data = mapped(event.data, rename);
    switch (event.type) {
      case "tool.started": {
        const { step, callId } = event.data;
        const effectId = `${sessions.caller(event)}/${step}/${rename(callId)}`;
        return withData(event, { ...Object(data), effectId });
      }
      case "session.forked": {
        const from = { ...event.data.from, session: sessions.parent(event.data.from.session) };
        return withData(event, { ...Object(data), from });
      }
      default:
        return withData(event, data);
    }
  });
}

function redacted(
  events: readonly SessionEvent[],
  redaction: Redaction,
): readonly (SessionEvent | undefined)[] {
  const texts = redactedTexts(events, redaction);
  return events.map((event) => {
    const data = redactedValue(withoutCircumstances(event.data), redaction);
    const text = texts.get(event.position);
    if (text === undefined) return withData(event, data);
    // All that it said was taken out with the piece before it.
    if (text === "") return undefined;
    const field = event.type === "part.tool-input-delta" ? "delta" : "text";
    return withData(event, { ...Object(data), [field]: text });
  });
}

/** The deltas that are not what they were, by position: what is taken out may lie across several of them. */
function redactedTexts(
  events: readonly SessionEvent[],
  redaction: Redaction,
): ReadonlyMap<number, string> {
  const blocks = new Map<string, { readonly position: number; readonly text: string }[]>();
  let attempt = 0;
  for (const { type, position, data } of events) {
    if (type === "step.started") attempt = position;
    const isText = type === "part.text-delta" || type === "part.reasoning-delta";
    if (!isText && type !== "part.tool-input-delta") continue;
    const key = `${attempt} ${type} ${data.id}`;
    const text = type === "part.tool-input-delta" ? data.delta : data.text;
    const block = blocks.get(key);
    if (block === undefined) blocks.set(key, [{ position, text }]);
    else block.push({ position, text });
  }
  return new Map(
    [...blocks.values()].flatMap((block) => {
      const texts = redaction.pieces(block.map(({ text }) => text));
      return block.flatMap(({ position, text }, index): [number, string][] =>
        texts[index] === text ? [] : [[position, texts[index] ?? ""]],
      );
    }),
  );
}

/** Stacks and the headers of answers name machines; of the headers, those stay that ask for patience. */
function withoutCircumstances(value: JsonValue | object): unknown {
  if (Array.isArray(value)) return value.map(withoutCircumstances);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, inner]: [string, JsonValue]) => {
      if (field === "stack") return [];
      const isHeaders = field === "responseHeaders" && typeof inner === "object" && inner !== null;
      if (!isHeaders) return [[field, withoutCircumstances(inner)]];
      const patience = Object.entries(inner).filter(([name]) => /^retry-after/i.test(name));
      return [[field, Object.fromEntries(patience)]];
    }),
  );
}

/** Positions without a gap, and times from the beginning of every fixture on. */
function placed(events: readonly (SessionEvent | undefined)[]): readonly SessionEvent[] {
  const kept = renumbered(events);
  const shift = BEGIN - (kept[0]?.time ?? 0);
  return kept.map((event) => {
    const moved = { ...event, time: event.time + shift };
    if (moved.type !== "step.finished") return moved;
    const { timestamp } = moved.data.response;
    if (timestamp === undefined) return moved;
    const response = { ...moved.data.response, timestamp: Math.max(0, timestamp + shift) };
    return withData(moved, { ...moved.data, response });
  });
}

/** The prompts are others where something was taken out: each step is given the digest of its own. */
function withDigests(events: readonly SessionEvent[]): readonly SessionEvent[] {
  let state = initialSessionState;
  return events.map((event) => {
    const { history, view, summary } = state;
    const digested =
      event.type === "step.started"
        ? withData(event, {
            ...event.data,
            promptDigest: promptDigest(summary.agentDigest ?? "", promptMessages(history, view)),
          })
        : event;
    state = foldSession(state, digested).state;
    return digested;
  });
}

/** Every string of a value by what `change` makes of it. */
function mapped(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((inner: unknown) => mapped(inner, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, mapped(inner, change)]),
  );
}
