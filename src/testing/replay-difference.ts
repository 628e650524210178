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

function comparable({ seq, type, data, id }: SessionEvent): unknown {
  const compared = withoutGuesses(type, { ...data });
  const error = "error" in compared ? { error: withoutCircumstances(compared["error"]) } : {};
  const agent = "agent" in compared ? { agent: withoutDetails(compared["agent"]) } : {};
  // A cancel that does not say how is one that stops what runs.
  const mode = type === "turn.cancel-requested" ? { mode: compared["mode"] ?? "now" } : {};
  return { seq, type, id, data: { ...compared, ...error, ...agent, ...mode } };
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

/** Both sides in words, as a failing test shows them. */
export function differenceText({ position, recorded, replayed }: ReplayDifference): string {
  const side = (event: SessionEvent | undefined): string =>
    event === undefined ? "nothing" : `${event.type} ${JSON.stringify(event.data)}`;
  const agents = agentDifference(recorded, replayed).map((sentence) => `\n${sentence}`);
  return `At position ${position} the session was\n  ${side(recorded)}\nand the replay has\n  ${side(replayed)}${agents.join("")}`;
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
