/**
 * Runs the runtime for real against a recorded session: its model and its tools answer from the log,
 * what came from outside comes again at its position, and every event is compared with the recorded
 * one. A session of which this finds no difference is what the agent would do again.
 */

import {
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
import { agentSchema, type Agent } from "../agent/index.ts";
import { openMemoryLog } from "../store/leveldb/index.ts";
import { recordedPace, type Pace, type PaceTime } from "../models/index.ts";
import { contextView, history, isPromptTrimmed } from "../projections/index.ts";
import { parseAllowed, type AllowedDifference } from "./allowed-differences.ts";
import type { ReplayDifference } from "./replay-difference.ts";
import { ReplayStage } from "./replay-stage.ts";

/** How a replay waits. */
export interface ReplayOptions {
  /**
   * What may differ from the recording, by name; everything else is compared. Default: nothing.
   * `instructions` of the agent, `tool-descriptions` with the input schemas.
   */
  readonly allow?: readonly AllowedDifference[];
  /** Milliseconds without any event after which the next one is no longer expected. Default 1,000. */
  readonly patienceMs?: number;
  /** Without waiting (default), in the time that it took, or so many times faster. */
  readonly pace?: Pace;
  /** Whose time passes. Default: the real one. */
  readonly time?: PaceTime;
  /** Told of each event as it happens again. */
  readonly onEvent?: (event: SessionEvent) => void;
}

/** Whether a replay was the same, and where it was not. */
export interface ReplayResult {
  /** How many events were the same, from the first on. */
  readonly events: number;
  /** Absent when all of them were, and nothing else happened. */
  readonly difference?: ReplayDifference;
}

/** The agent; or, for a session that several have run, the one that fits what was recorded of it. */
export type ReplayedAgent = Agent | ((recorded: AgentDescription) => Agent);

const schema = optionsOf<ReplayOptions>(
  {
    // Checked with a list of what can be allowed.
    allow: thing("a list", () => true),
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
 * Replays a session from its first event. Needs no network: the agent's model and its tools'
 * `execute` are not called. Instructions, schemas, approvals, `toModelOutput` and limits are the
 * agent's own, so that a change of them is found where it first tells. Nothing is waited
 * for: a limit is passed, a back-off is over and a tool is left behind where it was. A compaction is
 * planned by the agent; what a model wrote as its summary and what a provider counted come from the
 * log. A hash chain is of no concern: its links are left out. So is what was thinned: dropped reasoning
 * is left out, and prompts that had it are not compared. Not compared are times, stacks, how
 * long a refused call was put off, and guesses of tokens.
 * @param events - Of one session, as `EventLog.read` or `readSessionFile` gives them.
 * @throws TurnlogError `INVALID_INPUT` for events that do not begin with `session.created` or have a
 * gap, and for a difference that cannot be allowed
 */
export async function replay(
  events: readonly SessionEvent[],
  agent: ReplayedAgent,
  options: ReplayOptions = {},
): Promise<ReplayResult> {
  check(schema, options, "replay", { name: "options" });
  const { allow = [], patienceMs = 1000, pace = "at-once", time, onEvent = () => {} } = options;
  const allowed = parseAllowed(allow);
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
      `What stands at ${gone.position} was redacted: nobody can tell whether an agent does it again. Replay a session of which nothing is gone.`,
      { position: gone.position },
    );
  }
  const run = replayableEvents(events);
  const plain = renumbered(run);
  const recorded = events.filter((_, index) => run[index] !== undefined);
  const lost = lostPrompts(events);
  const positionOf = (position: number): number =>
    recorded[position - 1]?.position ?? events.length + 1;
  await using log = await openMemoryLog();
  const agentOf = (description: AgentDescription): Agent => {
    const given = typeof agent === "function" ? agent(description) : agent;
    // Its model is not called, and its name is all that is needed.
    check(agentSchema, { ...given, model: "replayed" }, "replay", { name: "agent" });
    return given;
  };
  // A wrong agent is no difference in what it does.
  agentOf(created.data.agent);
  const stage = new ReplayStage(created, {
    log,
    events: plain,
    lostPrompts: new Set(
      plain.flatMap(({ position }) => (lost.has(positionOf(position)) ? [position] : [])),
    ),
    allow: allowed,
    agentOf,
    patienceMs,
    time: recordedPace(plain, pace, time === undefined ? {} : { time }),
    onEvent,
  });
  const difference = await stage.play();
  if (difference === undefined) return { events: events.length };
  const position = positionOf(difference.position);
  return { events: position - 1, difference: { ...difference, position } };
}

/** The steps whose prompts had reasoning in them which the log no longer has. */
function lostPrompts(events: readonly SessionEvent[]): ReadonlySet<number> {
  const lost = new Set<number>();
  // A fork has no word of it where what it shares was thinned.
  if (!events.some(({ data }) => "dropped" in data && data.dropped === true)) return lost;
  let state = { history: history.initial, view: contextView.initial };
  for (const event of events) {
    if (event.type === "step.started" && isPromptTrimmed(state.history, state.view))
      lost.add(event.position);
    state = {
      history: history.fold(state.history, event),
      view: contextView.fold(state.view, event),
    };
  }
  return lost;
}
