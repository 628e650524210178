/** Compares an event of a replay with the recorded one. Pure. */

import { isDeepStrictEqual } from "node:util";
import { cutShort, type SessionEvent } from "../events/index.ts";
import { agentDifference } from "./agent-difference.ts";

/** The first event that differs. One side is absent if only the other continued. */
export interface ReplayDifference {
  readonly position: number;
  readonly recorded: SessionEvent | undefined;
  readonly replayed: SessionEvent | undefined;
}

/**
 * Removes what always differs: the time, the stacks of errors, the delays of refused calls (with the
 * headers that asked for them), and token estimates, which improve with releases.
 */
export function isSameEvent(recorded: SessionEvent, replayed: SessionEvent): boolean {
  return isDeepStrictEqual(comparable(recorded), comparable(replayed));
}

function comparable({ position, type, data, id }: SessionEvent): unknown {
  const compared = withoutGuesses(type, { ...data });
  const error = "error" in compared ? { error: withoutCircumstances(compared["error"]) } : {};
  const agent = "agent" in compared ? { agent: withoutDetails(compared["agent"]) } : {};
  // A cancel without a mode stops the running step.
  const mode = type === "turn.cancel-requested" ? { mode: compared["mode"] ?? "now" } : {};
  return { position, type, id, data: { ...compared, ...error, ...agent, ...mode } };
}

/** The digest of the agent follows from its parts and from the offers of MCP servers, which a replay does not ask. */
function withoutDetails(agent: unknown): unknown {
  if (typeof agent !== "object" || agent === null) return agent;
  return { ...agent, parts: undefined, mcp: undefined };
}

const guesses = new Set([
  "estimate",
  "estimatedTokens",
  "beforeTokens",
  "afterTokens",
  "savedTokens",
  "scale",
]);

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

/** Describes a difference in a sentence, followed by both sides. */
export function differenceText(difference: ReplayDifference): string {
  const { position, recorded, replayed } = difference;
  const side = (event: SessionEvent | undefined): string =>
    event === undefined ? "nothing" : `${event.type} ${JSON.stringify(event.data)}`;
  return `${differenceSentence(difference)}\nAt position ${position} the session was\n  ${side(recorded)}\nand the replay has\n  ${side(replayed)}`;
}

/** Says what differs first. */
export function differenceSentence({ position, recorded, replayed }: ReplayDifference): string {
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

/** With the tool or call of the event. */
function named(event: SessionEvent | undefined): string {
  if (event === undefined) return "nothing";
  const { type, data } = event;
  if ("toolName" in data && typeof data["toolName"] === "string")
    return `${type} (${data["toolName"]})`;
  if ("callId" in data && typeof data["callId"] === "string")
    return `${type} (call ${data["callId"]})`;
  return type;
}

/** The innermost path at which two values differ, with both values. */
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
  // The path starts below `data`.
  const shown = path[0] === "data" && path.length > 1 ? path.slice(1) : path;
  return [`\`${shown.join(".")}\``, was, is];
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

/** Most characters of a value in the sentence; the full value follows below. */
const EXCERPT = 80;

function excerpt(value: unknown): string {
  const text = JSON.stringify(value);
  if (text === undefined) return "absent";
  return cutShort(text, EXCERPT);
}

export function withPrompt(made: SessionEvent, recorded: SessionEvent | undefined): SessionEvent {
  if (made.type !== "step.started" || recorded?.type !== "step.started") return made;
  const { promptDigest } = recorded.data;
  return { ...made, data: { ...made.data, promptDigest } };
}

/**
 * A call as if a session of another name had started it: only the effect ids of calls show that an
 * imported session had several names. `names`: those that other events show; their calls belong to them.
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
