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
  type NewEvent,
  defined,
} from "../events/index.ts";
import {
  check,
  code,
  implementation,
  milliseconds,
  optionsOf,
  thing,
} from "../validation/index.ts";
import { agentSchema, prepareAgent, type Agent, nameOf } from "../agent/index.ts";
import { openMemoryLog } from "../store/leveldb/index.ts";
import { recordedPace, type Pace, type PaceTime, replayModel } from "../models/index.ts";
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
  AllowedDifferences,
  isSameEvent,
  withEffect,
  withPrompt,
} from "./replay-difference.ts";
import { memoryBlobs } from "../store/blobs/index.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { ReplayStage } from "./replay-stage.ts";
import type { RuntimeOptions } from "../runtime/index.ts";
import type { Timer } from "../shared/index.ts";
import { isNextBelieved, waitEnd } from "./recorded-endings.ts";
import {
  recordedFailover,
  recordedLimit,
  recordedPreparations,
  recordedTexts,
  withRecordedStops,
} from "./replay-boundaries.ts";
import { replayedContext } from "./replay-summaries.ts";
import { watchedTools } from "./replay-tools.ts";
import type { StageLane } from "./replay-process.ts";

/** Options of {@link replay}. */
export interface ReplayOptions {
  /** Differences to allow, by name: `instructions`, `tool-descriptions` (with the input schemas). Default: none. */
  readonly allow?: readonly AllowedDifference[];
  /**
   * Parts of the agent that run, instead of answering from the recording: `tools` (their `execute`), `stopWhen`,
   * `prepareStep` (with `prepareCall`), `refineToolInput`. What they do then shows in the events. Default: none.
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

interface ReplayResult {
  /** Number of equal events, from the first on. */
  readonly events: number;
  /** The first difference; absent if all events were equal and no other event happened. */
  readonly difference?: ReplayDifference;
  readonly parts: ReplayedParts;
}

/** What a replay looked at, by the agent's options: `tools`, `tools.execute`, `stopWhen`, … */
interface ReplayedParts {
  /** A change in them is a difference. */
  readonly compared: readonly string[];
  /** They ran, and a change in what they do is a difference. */
  readonly live: readonly string[];
  /** Their answers came from the recording: a change in them passes. */
  readonly unchecked: readonly string[];
}

/** The agent; or, for a session with several agents, a function that answers the one for a recorded description. */
export type ReplayedAgent = Agent | ((recorded: AgentDescription) => Agent);

/** Parts of an agent that a replay can run, instead of taking their answers from the recording. */
const liveParts = ["tools", "stopWhen", "prepareStep", "refineToolInput"] as const;
type LivePart = (typeof liveParts)[number];

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
  prepareCall: "prepareStep",
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

// The lane of a replay: the model, the tools and the waits answer from the recording, and each event is compared
// with the recorded one. It is over at the first difference.

interface RecordedLaneOptions {
  readonly events: readonly SessionEvent[];
  readonly order: RecordedOrder;
  /** Positions of steps whose prompts cannot be compared. */
  readonly lostPrompts: ReadonlySet<number>;
  readonly allow: readonly AllowedDifference[];
  readonly live: ReadonlySet<LivePart>;
  /** Called for each event that happened as it was recorded. */
  readonly onEvent: (event: SessionEvent) => void;
}

class RecordedLane implements StageLane {
  readonly #options: RecordedLaneOptions;
  readonly #allowed: AllowedDifferences;
  /** All names of the session that the log shows. */
  readonly #names = new Set<string>();
  #difference: ReplayDifference | undefined;

  constructor(options: RecordedLaneOptions) {
    this.#options = options;
    this.#allowed = new AllowedDifferences(options.allow);
  }

  get difference(): ReplayDifference | undefined {
    return this.#difference;
  }

  get isOver(): boolean {
    return this.#difference !== undefined;
  }

  addName(name: string): void {
    this.#names.add(name);
  }

  copied(events: readonly SessionEvent[]): void {
    for (const event of events) this.#allowed.happened(event);
  }

  happened(event: NewEvent): NewEvent {
    const { events, lostPrompts, onEvent, order } = this.#options;
    const position = order.placeOf(event) ?? order.position + 1;
    const recorded = events[position - 1];
    // Only the position is still missing.
    const made = { ...event, position } as SessionEvent;
    const named = withEffect(made, recorded, this.#names);
    const compared = this.#allowed.without(named, recorded);
    const replayed = lostPrompts.has(position) ? withPrompt(compared, recorded) : compared;
    if (recorded === undefined || !isSameEvent(recorded, replayed)) {
      this.#differ({ position, recorded, replayed });
      return event;
    }
    this.#allowed.happened(recorded);
    onEvent(recorded);
    order.happened(position);
    return { ...event, ...(named === made ? {} : named), time: recorded.time };
  }

  equip(given: Agent, opening: SessionEvent, onRun: (start: number) => void): Agent {
    const { events, order, live } = this.#options;
    const agent = withRecordedStops(given, events, order, live);
    const rest = events.slice(opening.position - 1);
    return {
      ...agent,
      model: { ...replayModel(rest, order), ...nameOf(agent.model) },
      context: replayedContext(agent, rest, order, () => order.position),
      ...(agent.tools && {
        tools: watchedTools(rest, agent.tools, order, {
          onRun: ({ started }) => onRun(started.position),
          isLive: live.has("tools"),
        }),
      }),
    };
  }

  testing(): NonNullable<RuntimeOptions["testing"]> {
    const { events, order, live } = this.#options;
    const preparation = live.has("prepareStep") ? undefined : recordedPreparations(events, order);
    const hasTexts = events.some(({ type }) => type.startsWith("prompt."));
    return {
      clock: () => events[Math.min(order.position, events.length - 1)]?.time ?? 0,
      recording: {
        limit: (position) => recordedLimit(events, position),
        failover: (position) => recordedFailover(events, position),
        // Earlier releases recorded none.
        texts: (position) => (hasTexts ? recordedTexts(events, position) : undefined),
        ...defined({ preparation }),
        believesBill: () => isNextBelieved(events, order.position),
      },
    };
  }

  /** Waits end where they ended in the recording, without waiting. */
  readonly wait: Timer = (_, due, wait) => {
    const { events, order } = this.#options;
    const position = waitEnd(events, order.position, wait);
    if (position !== undefined) void order.due(position).then(due);
    return { [Symbol.dispose]: () => {} };
  };

  repeated(event: SessionEvent): SessionEvent {
    return event;
  }

  moved(event: SessionEvent): SessionEvent {
    return event;
  }

  missing(position: number): void {
    const { events, order } = this.#options;
    if (order.hasHappened(position)) return;
    this.#differ({ position, recorded: events[position - 1], replayed: undefined });
  }

  stuck(): void {}

  #differ(difference: ReplayDifference): void {
    this.#difference ??= difference;
    this.#options.order.stop();
  }
}
