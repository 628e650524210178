/**
 * Exports a session as a fixture: a small, readable file that can be shared and replayed. Secrets and home
 * folders are removed, ids are short, times begin at a fixed moment. Digests of prompts are recomputed, so that
 * it keeps every law.
 */

import { check, list, optionsOf, text } from "../../validation/index.ts";
import {
  callerOf,
  shellWord,
  eventLine,
  headerLine,
  renumbered,
  TurnlogError,
  unchained,
  type EventLog,
  type JsonValue,
  type SessionEvent,
} from "../../events/index.ts";
import { nextDigest, standing, standingText, textDigest } from "../../projections/index.ts";
import { foldSession, initialSessionState, checkPosition } from "../../state/index.ts";
import { readSessionFile } from "./file-reader.ts";
import { redactedValue, Redaction } from "./redaction.ts";

/** What a fixture leaves out in addition to secrets and home folders. */
export interface FixtureOptions {
  /** Patterns to remove; each match becomes `[redacted]`. */
  readonly redact?: readonly RegExp[];
  /** A further home folder to replace by `~`. Those in `/home`, `/Users` and `C:\Users` always are. */
  readonly home?: string;
}

/** Time of the first event of every fixture: 1 January 2026. */
const BEGIN = Date.UTC(2026, 0, 1);

const schema = optionsOf<FixtureOptions>({ redact: list, home: text }, {});

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
  const renamed = withShortNames(withWholeTexts(recorded));
  // Two passes: a secret that the first finds by its name may occur elsewhere without one.
  redacted(renamed, redaction);
  redaction.rememberFound();
  const events = withDigests(withTextDigests(placed(redacted(renamed, redaction))));
  const fixture = { redacted: [...redaction.applied].toSorted() };
  const header = headerLine({ session: FIXTURE, events: events.length, fixture });
  const lines = [header, ...events.map(eventLine)];
  try {
    await readSessionFile(lines);
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    throw new TurnlogError(
      "EVENT_INVALID",
      `Session ${session} cannot become a fixture: ${error.message} Narrow the patterns of \`redact\`, or run "turnlog verify ${shellWord(session)}".`,
      { session, cause: error },
    );
  }
  return lines;
}

function withData(event: SessionEvent, data: unknown): SessionEvent {
  // `exportFixture` parses the whole file before it returns it.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return { ...event, data } as SessionEvent;
}

function withShortNames(events: readonly SessionEvent[]): readonly SessionEvent[] {
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
    // The replacement of the delta before covers all of this one.
    if (text === "") return undefined;
    const field = event.type === "part.tool-input-delta" ? "delta" : "text";
    return withData(event, { ...Object(data), [field]: text });
  });
}

/** Changed deltas by position. A secret may span several deltas. */
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

/** Without stacks and response headers, which name machines, except `retry-after` headers. */
function withoutCircumstances(value: JsonValue | object): unknown {
  if (Array.isArray(value)) return value.map(withoutCircumstances);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([field, inner]: [string, JsonValue]) => {
      if (field === "stack") return [];
      const isHeaders = field === "responseHeaders" && typeof inner === "object" && inner !== null;
      if (!isHeaders) return [[field, withoutCircumstances(inner)]];
      const retryAfter = Object.entries(inner).filter(([name]) => /^retry-after/i.test(name));
      return [[field, Object.fromEntries(retryAfter)]];
    }),
  );
}

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

/** A redaction changes lengths, so no text is told by another one. */
function withWholeTexts(events: readonly SessionEvent[]): readonly SessionEvent[] {
  let state = standing.initial;
  return events.map((event) => {
    if (event.type !== "prompt.text") return event;
    state = standing.fold(state, event);
    const { digest } = event.data;
    return withData(event, { digest, text: standingText(state, digest) });
  });
}

/** Recomputes the digests of texts, and changes them where an event names one. */
function withTextDigests(events: readonly SessionEvent[]): readonly SessionEvent[] {
  const digests = new Map(
    events.flatMap(({ type, data }) =>
      type === "prompt.text" ? [[data.digest, textDigest(data.text)] as const] : [],
    ),
  );
  const rename = (text: string): string => digests.get(text) ?? text;
  return events.map((event) => {
    switch (event.type) {
      case "session.created":
      case "session.configured":
      case "session.forked":
      case "step.prepared":
      case "prompt.text":
        return withData(event, mapped(event.data, rename));
      default:
        return event;
    }
  });
}

/** Recomputes the digest of each step's prompt, since redaction changed prompts. */
function withDigests(events: readonly SessionEvent[]): readonly SessionEvent[] {
  let state = initialSessionState;
  return events.map((event) => {
    const { history, view, summary } = state;
    const digested =
      event.type === "step.started"
        ? withData(event, {
            ...event.data,
            promptDigest: nextDigest({ history, view }, summary),
          })
        : event;
    state = foldSession(state, digested).state;
    return digested;
  });
}

function mapped(value: unknown, change: (text: string) => string): unknown {
  if (typeof value === "string") return change(value);
  if (Array.isArray(value)) return value.map((inner: unknown) => mapped(inner, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([name, inner]) => [name, mapped(inner, change)]),
  );
}

// Short, stable names for the long ids and the sessions in a fixture. Pure.

const SHORT = 8;

/** Each long id becomes its kind and a number, in the order of the events. */
function fixtureNames(events: readonly SessionEvent[]): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  for (const event of events) {
    for (const [kind, id] of idsOf(event)) if (!found.has(id)) found.set(id, kind);
  }
  const names = new Map<string, string>();
  const counts = new Map<string, number>();
  for (const [id, kind] of found) {
    if (id.length <= SHORT) continue;
    let name: string;
    do {
      const count = (counts.get(kind) ?? 0) + 1;
      counts.set(kind, count);
      name = `${kind}${count}`;
    } while (found.has(name));
    names.set(id, name);
  }
  return names;
}

type NamedId = readonly [kind: string, id: string];

function idsOf({ type, data }: SessionEvent): readonly NamedId[] {
  switch (type) {
    case "message.queued":
      return [["m", data.id]];
    case "part.tool-input-start":
      return [["c", data.id], ...providerIds(data.providerMetadata)];
    case "part.tool-call":
      return [["c", data.toolCallId], ...providerIds(data.providerMetadata)];
    case "part.tool-approval-request":
      return [["a", data.approvalId]];
    case "part.source":
      return typeof data.id === "string" ? [["s", data.id]] : [];
    case "part.text-start":
    case "part.reasoning-start":
    case "part.text-end":
    case "part.reasoning-end":
      return [["p", data.id], ...providerIds(data.providerMetadata)];
    case "step.finished": {
      const { response, providerMetadata } = data;
      const own: readonly NamedId[] = response.id === undefined ? [] : [["r", response.id]];
      return [...own, ...providerIds(providerMetadata)];
    }
    default:
      return [];
  }
}

/** Ids in provider metadata, known by the names of their fields. */
function providerIds(value: JsonValue | undefined, field = ""): readonly NamedId[] {
  if (typeof value === "string") return /(?:^id|Id|_id)$/.test(field) ? [["i", value]] : [];
  if (typeof value !== "object" || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => providerIds(inner, name));
}

const FIXTURE = "fixture";

/** Names of sessions often contain names of users. */
interface FixtureSessions {
  parent(session: string): string;
  /** The name for the session that made the call that an event starts. */
  caller(event: SessionEvent<"tool.started">): string;
}

/** @param events - All events in order. */
function fixtureSessions(events: readonly SessionEvent[]): FixtureSessions {
  const forks = events.filter((event) => event.type === "session.forked");
  const names = new Map<string, string>();
  for (const { data } of forks) {
    const { session } = data.from;
    if (!names.has(session)) names.set(session, `${FIXTURE}-${names.size + 1}`);
  }
  const parent = (session: string): string => names.get(session) ?? FIXTURE;
  return {
    parent,
    caller({ position, data }) {
      const made = names.get(callerOf(data) ?? "");
      if (made !== undefined) return made;
      // The session was imported under another name: use the part that the event belongs to.
      const next = forks.find((fork) => fork.position > position);
      return next === undefined ? FIXTURE : parent(next.data.from.session);
    },
  };
}
