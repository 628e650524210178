/** Whether an event happened again as it was recorded. Pure. */

import { isDeepStrictEqual } from "node:util";
import type { SessionEvent } from "../events/index.ts";
import { agentDifference } from "./agent-difference.ts";

/** The first event that is not the same. One side is absent where only the other went on. */
export interface ReplayDifference {
  readonly position: number;
  readonly recorded: SessionEvent | undefined;
  readonly replayed: SessionEvent | undefined;
}

/**
 * All but what is never the same twice: the time, the stack of an error, for how long a refused call
 * was put off (with the headers that asked for it), and what was guessed of tokens, which a later
 * release guesses better.
 */
export function isSameEvent(recorded: SessionEvent, replayed: SessionEvent): boolean {
  return isDeepStrictEqual(comparable(recorded), comparable(replayed));
}

function comparable({ position, type, data, id }: SessionEvent): unknown {
  const compared = withoutGuesses(type, { ...data });
  const error = "error" in compared ? { error: withoutCircumstances(compared["error"]) } : {};
  const agent = "agent" in compared ? { agent: withoutDetails(compared["agent"]) } : {};
  // A cancel that does not say how is one that stops what runs.
  const mode = type === "turn.cancel-requested" ? { mode: compared["mode"] ?? "now" } : {};
  return { position, type, id, data: { ...compared, ...error, ...agent, ...mode } };
}

/** The agent's digest is over its parts, and over what servers offered, none of which is asked in a replay. */
function withoutDetails(agent: unknown): unknown {
  if (typeof agent !== "object" || agent === null) return agent;
  return { ...agent, parts: undefined, mcp: undefined };
}

/** Fields that hold what this release guessed. */
const guesses = new Set([
  "estimate",
  "estimatedTokens",
  "beforeTokens",
  "afterTokens",
  "savedTokens",
  "scale",
]);

/** An event's data without delays and guesses, as far as its type has them. */
function withoutGuesses(
  type: string,
  said: Readonly<Record<string, unknown>>,
): Readonly<Record<string, unknown>> {
  return Object.fromEntries(
    Object.entries(said).filter(
      ([field, value]) =>
        !guesses.has(field) &&
        !(field === "delayMs" && type === "step.retrying") &&
        !(field === "usage" && isGuessed(value)),
    ),
  );
}

function isGuessed(usage: unknown): boolean {
  return (
    typeof usage === "object" && usage !== null && "basis" in usage && usage.basis === "estimated"
  );
}

const circumstances = new Set(["stack", "responseHeaders"]);

function withoutCircumstances(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutCircumstances);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      circumstances.has(key) ? [] : [[key, withoutCircumstances(inner)]],
    ),
  );
}

/** What differs in a sentence, then both sides, as a failing test shows them. */
export function differenceText(difference: ReplayDifference): string {
  const { position, recorded, replayed } = difference;
  const side = (event: SessionEvent | undefined): string =>
    event === undefined ? "nothing" : `${event.type} ${JSON.stringify(event.data)}`;
  return `${sentenceOf(difference)}\nAt position ${position} the session was\n  ${side(recorded)}\nand the replay has\n  ${side(replayed)}`;
}

function sentenceOf({ position, recorded, replayed }: ReplayDifference): string {
  const agents = agentDifference(recorded, replayed);
  if (agents.length > 0) return agents.join(" ");
  if (recorded === undefined)
    return `The session ended before position ${position}, and the replay goes on with ${named(replayed)}.`;
  if (replayed === undefined)
    return `At position ${position} came ${named(recorded)}, and the replay does not go on.`;
  if (recorded.type !== replayed.type)
    return `At position ${position} came ${named(recorded)}, and the replay has ${named(replayed)}.`;
  if (recorded.type === "step.started" && replayed.type === "step.started") {
    if (isSameEvent(recorded, withPrompt(replayed, recorded)))
      return `Step ${recorded.data.step} is shown another prompt.`;
  }
  const [path, was, is] = firstDifference(comparable(recorded), comparable(replayed));
  return `At position ${position} ${named(recorded)} differs in ${path}: it was ${excerpt(was)} and is ${excerpt(is)}.`;
}

/** With the tool or the call that it is about. */
function named(event: SessionEvent | undefined): string {
  if (event === undefined) return "nothing";
  const { type, data } = event;
  if ("toolName" in data && typeof data["toolName"] === "string")
    return `${type} (${data["toolName"]})`;
  if ("callId" in data && typeof data["callId"] === "string")
    return `${type} (call ${data["callId"]})`;
  return type;
}

/** The innermost place at which two values differ, with what is there. */
function firstDifference(
  was: unknown,
  is: unknown,
  path: readonly string[] = [],
): readonly [path: string, was: unknown, is: unknown] {
  if (isObject(was) && isObject(is)) {
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const [one, other] = [was[key], is[key]];
      if (!isDeepStrictEqual(one, other)) return firstDifference(one, other, [...path, key]);
    }
  }
  // What an event says is in its data.
  const told = path[0] === "data" && path.length > 1 ? path.slice(1) : path;
  return [`\`${told.join(".")}\``, was, is];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Characters of a value in a sentence: all of it is told below. */
const EXCERPT = 80;

function excerpt(value: unknown): string {
  const text = JSON.stringify(value);
  if (text === undefined) return "absent";
  return text.length > EXCERPT ? `${text.slice(0, EXCERPT)}…` : text;
}

/** A step as if it had been given the prompt that was recorded. */
export function withPrompt(made: SessionEvent, recorded: SessionEvent | undefined): SessionEvent {
  if (made.type !== "step.started" || recorded?.type !== "step.started") return made;
  const { promptDigest } = recorded.data;
  return { ...made, data: { ...made.data, promptDigest } };
}

/**
 * A call as it was started in a session of another name: one that was imported has had several, and
 * no event but its calls tells of it.
 * @param names - Those that the log tells otherwise: a call of theirs is nobody else's.
 */
export function withEffect(
  made: SessionEvent,
  recorded: SessionEvent | undefined,
  names: ReadonlySet<string>,
): SessionEvent {
  if (made.type !== "tool.started" || recorded?.type !== "tool.started") return made;
  const { effectId } = recorded.data;
  const end = `/${made.data.step}/${made.data.callId}`;
  if (effectId === made.data.effectId || !effectId.endsWith(end)) return made;
  if (names.has(effectId.slice(0, -end.length))) return made;
  return { ...made, data: { ...made.data, effectId } };
}
