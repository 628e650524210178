/**
 * Replays a recorded session with the real runtime: the model and the tools answer from the log, commands are
 * repeated at their positions, and every event is compared with the recorded one.
 */

import {
  byId,
  describedAgent,
  replayableEvents,
  isRedacted,
  renumbered,
  type AgentDescription,
  type SessionEvent,
  TurnlogError,
} from "../events/index.ts";
import {
  check,
  code,
  implementation,
  milliseconds,
  optionsOf,
  thing,
} from "../validation/index.ts";
import { agentSchema, prepareAgent, type Agent } from "../agent/index.ts";
import { openMemoryLog } from "../store/leveldb/index.ts";
import { recordedPace, type Pace, type PaceTime } from "../models/index.ts";
import {
  contextView,
  isPromptTrimmed,
  standing,
  standingChanges,
  standingPrompt,
  type StandingState,
} from "../projections/index.ts";
import { foldSession, initialSessionState } from "../state/index.ts";
import {
  parseAllowed,
  type AllowedDifference,
  type ReplayDifference,
} from "./replay-difference.ts";
import { memoryBlobs } from "../store/blobs/index.ts";
import { liveParts, RecordedLane, type LivePart } from "./recorded-lane.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { ReplayStage } from "./replay-stage.ts";

/** Options of {@link replay}. */
export interface ReplayOptions {
  /** Differences to allow, by name: `instructions`, `tool-descriptions` (with the input schemas). Default: none. */
  readonly allow?: readonly AllowedDifference[];
  /**
   * Parts of the agent that run, instead of answering from the recording: `tools` (their `execute`), `stopWhen`,
   * `prepareStep`, `refineToolInput`. What they do then shows in the events. Default: none.
   */
  readonly live?: readonly LivePart[];
  /** Milliseconds without an event after which the replay stops waiting for the next one. Default: 1,000, with live tools 60,000. */
  readonly patienceMs?: number;
  /** Without waiting (default), in recorded time, or faster by a factor. */
  readonly pace?: Pace;
  /** The clock. Default: real time. */
  readonly time?: PaceTime;
  /** Called for each event that happens again. */
  readonly onEvent?: (event: SessionEvent) => void;
}

export interface ReplayResult {
  /** Number of equal events, from the first on. */
  readonly events: number;
  /** The first difference; absent if all events were equal and no other event happened. */
  readonly difference?: ReplayDifference;
  readonly parts: ReplayedParts;
}

/** What a replay looked at, by the agent's options: `tools`, `tools.execute`, `stopWhen`, … */
export interface ReplayedParts {
  /** A change in them is a difference. */
  readonly compared: readonly string[];
  /** They ran, and a change in what they do is a difference. */
  readonly live: readonly string[];
  /** Their answers came from the recording: a change in them passes. */
  readonly unchecked: readonly string[];
}

/** The agent; or, for a session with several agents, a function that answers the one for a recorded description. */
export type ReplayedAgent = Agent | ((recorded: AgentDescription) => Agent);

const schema = optionsOf<ReplayOptions>(
  {
    // `allowedDifferences` checks the names.
    allow: thing("a list", () => true),
    live: thing(
      `a list of ${liveParts.map((name) => `"${name}"`).join(", ")}`,
      (live) =>
        Array.isArray(live) && live.every((name) => liveParts.some((part) => part === name)),
    ),
    patienceMs: milliseconds,
    pace: thing(
      '"at-once", "recorded" or a factor',
      (pace) => pace === "at-once" || pace === "recorded" || typeof pace === "number",
    ),
    time: implementation({ now: code, wait: code }),
    onEvent: code,
  },
  {},
);

/**
 * Replays a session from its first event, without a network: the model and `execute` of the tools are not
 * called. Instructions, schemas, approvals, `toModelOutput` and limits are those of the agent: a change
 * shows as a difference. Limits, back-offs and timeouts end where they were recorded, without waiting.
 * The agent plans compactions; summaries of models and token counts come from the log. Links of a hash
 * chain are left out, and so is trimmed reasoning, with the comparison of prompts that had it. Times,
 * stacks, delays of refused calls and token estimates are not compared.
 * @param events - The events of one session, as `EventLog.read` or `readSessionFile` gives them.
 * @example
 * const { difference } = await replay(events, agent, { allow: ["instructions"] });
 * expect(difference).toBeUndefined();
 * @throws TurnlogError `INVALID_INPUT` for events that do not begin with `session.created` or have a gap,
 * and for an unknown name in `allow`
 */
export async function replay(
  events: readonly SessionEvent[],
  agent: ReplayedAgent,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  check(schema, options, "replay", { name: "options" });
  const { allow = [], live = [], pace = "at-once", time, onEvent = () => {} } = options;
  // Tools that really run take their time.
  const { patienceMs = live.includes("tools") ? 60_000 : 1000 } = options;
  const allowed = parseAllowed(allow);
  const created = checkedRecording(events);
  const run = replayableEvents(events);
  const plain = renumbered(run);
  const recorded = events.filter((_, index) => run[index] !== undefined);
  const lost = lostPrompts(events);
  const positionOf = (position: number): number =>
    recorded[position - 1]?.position ?? events.length + 1;
  await using log = await openMemoryLog();
  // Only the name of this model is needed: it is not called.
  const agentOf = checkedAgent(agent, "replay", { model: "replayed" });
  // A wrong agent is not a difference in behaviour.
  const parts = partsOf(agentOf(created.data.agent), live);
  const order = new RecordedOrder(
    plain,
    recordedPace(plain, pace, time === undefined ? {} : { time }),
  );
  const lane = new RecordedLane({
    events: plain,
    order,
    lostPrompts: new Set(
      plain.flatMap(({ position }) => (lost.has(positionOf(position)) ? [position] : [])),
    ),
    allow: allowed,
    live: new Set(live),
    onEvent,
  });
  const stage = new ReplayStage(created, {
    log,
    events: plain,
    agentOf,
    blobs: memoryBlobs(),
    patienceMs,
    order,
    lane,
  });
  await stage.play();
  const { difference } = lane;
  if (difference === undefined) return { events: events.length, parts };
  const position = positionOf(difference.position);
  const changes = await changedParts(difference, events, agentOf);
  return { events: position - 1, difference: { ...difference, ...changes, position }, parts };
}

/**
 * The first event of a recording that can run again.
 * @throws TurnlogError `INVALID_INPUT` for events that do not begin with `session.created` or have a gap, and for
 * redacted ones
 */
export function checkedRecording(events: readonly SessionEvent[]): SessionEvent<"session.created"> {
  const [created] = events;
  if (
    created?.type !== "session.created" ||
    events.some(({ position }, at) => position !== at + 1)
  ) {
    throw new TurnlogError(
      "INVALID_INPUT",
      "A session is replayed from its first event, which is session.created, and without a gap.",
    );
  }
  const gone = events.find(isRedacted);
  if (gone !== undefined) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `The event at ${gone.position} was redacted, so it cannot be compared. Replay a session without redacted events.`,
      { position: gone.position },
    );
  }
  return created;
}

/** Answers the agent for a recorded description, checked. */
export function checkedAgent(
  agent: ReplayedAgent,
  called: string,
  placeholder: { readonly model?: string } = {},
): (recorded: AgentDescription) => Agent {
  return (recorded) => {
    const given = typeof agent === "function" ? agent(recorded) : agent;
    check(agentSchema, { ...given, ...placeholder }, called, { name: "agent" });
    return given;
  };
}

const liveNames: Readonly<Record<string, LivePart>> = {
  "tools.execute": "tools",
  stopWhen: "stopWhen",
  prepareStep: "prepareStep",
  experimental_refineToolInput: "refineToolInput",
};

function partsOf(agent: Agent, live: readonly LivePart[]): ReplayedParts {
  const runs = Object.values(agent.tools ?? {}).some(({ execute }) => execute !== undefined);
  const names = Object.entries(agent)
    .filter(([, value]) => value !== undefined)
    .map(([name]) => name);
  const kind = (name: string): keyof ReplayedParts => {
    const part = byId(liveNames, name);
    if (part !== undefined) return live.includes(part) ? "live" : "unchecked";
    // The order of parallel calls is free.
    const isFree =
      /^(experimental_)?on[A-Z]|^toolCallConcurrency$|^(experimental_)?telemetry$/.test(name);
    return isFree ? "unchecked" : "compared";
  };
  const all = Object.groupBy(runs ? [...names, "tools.execute"] : names, kind);
  return { compared: all.compared ?? [], live: all.live ?? [], unchecked: all.unchecked ?? [] };
}

/** What differs between two agents, by the texts that the log has of one and the program of the other. */
async function changedParts(
  { recorded, replayed }: ReplayDifference,
  events: readonly SessionEvent[],
  agentFor: (description: AgentDescription) => Agent,
): Promise<Pick<ReplayDifference, "standing">> {
  const [before, after] = [recorded, replayed].map((event) => event && describedAgent(event));
  if (before === undefined || after === undefined) return {};
  const { texts } = await prepareAgent(agentFor(before), after.model);
  const logged = events.reduce(
    (state, event) => (event.type === "prompt.text" ? standing.fold(state, event) : state),
    standing.initial,
  );
  const own = Object.fromEntries([...texts].map(([digest, text]) => [digest, { text }]));
  const promptOf = (agent: AgentDescription, state: StandingState) =>
    standingPrompt({
      view: contextView.initial,
      standing: { ...state, agent: { ...agent, position: 1 } },
    });
  return {
    standing: standingChanges(promptOf(before, logged), promptOf(after, { texts: own })),
  };
}

/** The steps whose prompts had reasoning that was trimmed. */
function lostPrompts(events: readonly SessionEvent[]): ReadonlySet<number> {
  const lost = new Set<number>();
  // A fork has no event about a trim of its shared part.
  if (!events.some(({ data }) => "dropped" in data && data.dropped === true)) return lost;
  let state = initialSessionState;
  for (const event of events) {
    if (event.type === "step.started" && isPromptTrimmed(state.history, state.view))
      lost.add(event.position);
    ({ state } = foldSession(state, event));
  }
  return lost;
}
