/** Compares an event of a replay with the recorded one. Pure. */

import { isDeepStrictEqual } from "node:util";
import {
  callerOf,
  cutShort,
  visibleWord,
  type SessionEvent,
  byId,
  describedAgent,
  type AgentDescription,
  TurnlogError,
} from "../events/index.ts";
import { z } from "zod";
import { nextDigest, type StandingChange } from "../projections/index.ts";
import { isOfCommand } from "../runtime/index.ts";
import { foldSession, initialSessionState } from "../state/index.ts";

/** The first event that differs. One side is absent if only the other continued. */
export interface ReplayDifference {
  readonly position: number;
  readonly recorded: SessionEvent | undefined;
  readonly replayed: SessionEvent | undefined;
  /** Which parts of the agent differ and in which lines, if both events name one and the log has its texts. */
  readonly standing?: readonly StandingChange[];
}

/**
 * Removes what always differs: the time, the ids of forwarded commands, the stacks of errors, the delays of refused
 * calls (with the headers that asked for them), and token estimates, which improve with releases.
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
  // In a replay no other process sends a command.
  const own = isOfCommand(id) ? undefined : id;
  return { position, type, id: own, data: { ...compared, ...error, ...agent, ...mode } };
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
export function differenceSentence(difference: ReplayDifference): string {
  const { position, recorded, replayed, standing = [] } = difference;
  const agents = agentDifference(recorded, replayed);
  if (agents.length > 0) return [...agents, ...standing.flatMap(lineSentences)].join(" ");
  if (recorded === undefined)
    return `The session ended before position ${position}, but the replay continues with ${named(replayed)}.`;
  if (replayed === undefined)
    return `At position ${position} the session has ${named(recorded)}, but the replay has ended.`;
  if (recorded.type !== replayed.type)
    return `At position ${position} the session has ${named(recorded)}, but the replay has ${named(replayed)}.`;
  if (recorded.type === "step.started" && replayed.type === "step.started") {
    if (isSameEvent(recorded, withPrompt(replayed, recorded)))
      return `Step ${recorded.data.step} gets a different prompt.`;
  }
  const { path, was, is } = innermostDifference(comparable(recorded), comparable(replayed));
  // The path starts below `data`.
  const shown = path[0] === "data" && path.length > 1 ? path.slice(1) : path;
  return `At position ${position} ${named(recorded)} differs in \`${shown.join(".")}\`: it was ${excerpt(was)} and is ${excerpt(is)}.`;
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

/** The innermost path at which two values differ, and what is there in both. */
export function innermostDifference(
  was: unknown,
  is: unknown,
  path: readonly string[] = [],
): { readonly path: readonly string[]; readonly was: unknown; readonly is: unknown } {
  if (isObject(was) && isObject(is))
    for (const key of new Set([...Object.keys(was), ...Object.keys(is)])) {
      const [one, other] = [own(was, key), own(is, key)];
      if (!isDeepStrictEqual(one, other)) return innermostDifference(one, other, [...path, key]);
    }
  return { path, was, is };
}

function isObject(value: unknown): value is Readonly<Record<string, unknown>> {
  return typeof value === "object" && value !== null;
}

function own(value: Readonly<Record<string, unknown>>, key: string): unknown {
  return Object.hasOwn(value, key) ? value[key] : undefined;
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
  const caller = callerOf({ ...made.data, effectId });
  if (effectId === made.data.effectId || caller === undefined) return made;
  // Earlier releases wrote the name of a session as it is.
  const isOwn = callerOf(made.data) === caller;
  if (names.has(caller) && !isOwn) return made;
  return { ...made, data: { ...made.data, effectId } };
}

// Describes in words which part of an agent differs, since a digest over the whole agent does not. Pure.

/** Sentences on the differences between the agents that two events name; none if neither names another agent. */
function agentDifference(
  recorded: SessionEvent | undefined,
  replayed: SessionEvent | undefined,
): readonly string[] {
  const [before, after] = [recorded, replayed].map((event) => event && describedAgent(event));
  if (before === undefined || after === undefined || before.digest === after.digest) return [];
  const names = [...new Set([...before.tools, ...after.tools])];
  const found = [
    ...modelDifference(before, after),
    ...(before.parts !== undefined &&
    after.parts !== undefined &&
    before.parts.instructions !== after.parts.instructions
      ? ["The instructions have changed."]
      : []),
    ...(JSON.stringify(before.parts?.toolChoice) === JSON.stringify(after.parts?.toolChoice)
      ? []
      : ["The tool choice has changed."]),
    ...names.flatMap((name) => toolDifference(name, before, after)),
  ];
  if (found.length > 0) return found;
  return before.parts === undefined
    ? ["Its instructions, or a tool's description or input schema, have changed."]
    : ["The order of its tools has changed."];
}

/** The lines that differ, the first of them in words. */
function lineSentences(change: StandingChange): readonly string[] {
  if (change.part === "tools" || change.lines === undefined) return [];
  const { part, name } = change;
  const { from, removed, added } = change.lines;
  const of = name === undefined ? `the ${part}` : `the tool ${visibleWord(name)}`;
  const [was, is] = [removed, added].map(([first]) =>
    first === undefined ? "absent" : excerpt(first),
  );
  const more = Math.max(removed.length, added.length) - 1;
  const rest = more > 0 ? `, and ${more} more lines differ` : "";
  return [`Line ${from} of ${of} was ${was} and is ${is}${rest}.`];
}

function modelDifference(before: AgentDescription, after: AgentDescription): readonly string[] {
  const [one, other] = [before, after].map(({ model }) =>
    visibleWord(`${model.provider}:${model.modelId}`),
  );
  return one === other ? [] : [`The model was ${one} and is now ${other}.`];
}

function toolDifference(
  name: string,
  before: AgentDescription,
  after: AgentDescription,
): readonly string[] {
  if (!after.tools.includes(name)) return [`The tool ${visibleWord(name)} is gone.`];
  if (!before.tools.includes(name)) return [`The tool ${visibleWord(name)} is new.`];
  if (before.parts === undefined || after.parts === undefined) return [];
  const isSame = byId(before.parts.tools, name) === byId(after.parts.tools, name);
  return isSame
    ? []
    : [`The tool ${visibleWord(name)} has a different description or input schema.`];
}

// Named differences that a replay may allow, so that a test survives an edited prompt and still checks
// calls, their order, results and ends. Each prompt is compared under the recorded agent. Pure.

const names = ["instructions", "tool-descriptions"] as const;

/**
 * `instructions`: the instructions of the agent. `tool-descriptions`: descriptions and input schemas of
 * its tools; a schema that refuses a recorded input is still a difference.
 */
export type AllowedDifference = (typeof names)[number];

/** @throws TurnlogError `INVALID_INPUT` for an unknown name */
export function parseAllowed(given: unknown): readonly AllowedDifference[] {
  const parsed = z.array(z.enum(names)).safeParse(given);
  if (parsed.success) return parsed.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    `A replay cannot allow ${JSON.stringify(given)}: \`allow\` is a list of ${names.map((name) => `"${name}"`).join(" and ")}. Everything else is behaviour, which a replay checks.`,
    { cause: parsed.error },
  );
}

export class AllowedDifferences {
  readonly #allowed: ReadonlySet<AllowedDifference>;
  #state = initialSessionState;
  /** The digest of the recorded agent. */
  #agent = "";

  constructor(allowed: readonly AllowedDifference[]) {
    this.#allowed = new Set(allowed);
  }

  without(made: SessionEvent, recorded: SessionEvent | undefined): SessionEvent {
    if (this.#allowed.size === 0) return made;
    switch (made.type) {
      case "session.created":
      case "session.configured": {
        if (recorded?.type !== made.type) return made;
        const { agent } = recorded.data;
        return this.#isAllowed(agent, made.data.agent) ? { ...made, data: { agent } } : made;
      }
      case "step.started": {
        const digest = nextDigest(this.#state, { agentDigest: this.#agent });
        return { ...made, data: { ...made.data, promptDigest: digest } };
      }
      default:
        return made;
    }
  }

  happened(event: SessionEvent): void {
    if (this.#allowed.size === 0) return;
    this.#agent = describedAgent(event)?.digest ?? this.#agent;
    this.#state = foldSession(this.#state, event).state;
  }

  #isAllowed(recorded: AgentDescription, made: AgentDescription): boolean {
    const may = (name: AllowedDifference): boolean => this.#allowed.has(name);
    const [one, other] = [recorded.parts, made.parts];
    if (!isDeepStrictEqual(recorded.model, made.model)) return false;
    if (!isDeepStrictEqual(recorded.tools, made.tools)) return false;
    if (!isDeepStrictEqual(recorded.parts?.toolChoice, made.parts?.toolChoice)) return false;
    // A single digest does not show which part differs.
    if (one === undefined || other === undefined) return names.every(may);
    return (
      (may("instructions") || one.instructions === other.instructions) &&
      (may("tool-descriptions") || isDeepStrictEqual(one.tools, other.tools))
    );
  }
}
