/**
 * Runs a recorded session again, its processes one after another on one log in memory. What comes from outside
 * (commands, time limits, openings) is repeated where it was recorded; all else must follow from it.
 */

import { setImmediate } from "node:timers/promises";
import {
  type AgentDescription,
  type EventLog,
  type SessionEvent,
  isCallEnd,
  type TurnOutput,
} from "../events/index.ts";
import type { Session } from "../runtime/index.ts";
import type { Agent } from "../agent/index.ts";
import { withRecordedOffer } from "../mcp/index.ts";
import { isStop, isTimeUp, type ReplayPace, recordedError } from "../models/index.ts";
import { beginOf, isOpening, sessionName } from "./recorded-endings.ts";
import { isCommand, repeatCommand } from "./replay-command.ts";
import {
  ReplayComparison,
  type ReplayComparisonOptions,
  type ReplayDifference,
} from "./replay-difference.ts";
import { ReplayPacer } from "./replay-pacer.ts";
import { ReplayProcess } from "./replay-process.ts";
import { isRun, recordedRuns } from "./replay-tools.ts";
import { recordedCompactions, recordedStrategy } from "./replay-summaries.ts";
import type { OutputInterface } from "ai";

export interface ReplayStageOptions extends ReplayComparisonOptions {
  readonly log: EventLog;
  readonly agentOf: (recorded: AgentDescription) => Agent;
  readonly patienceMs: number;
  readonly time: ReplayPace;
}

/** Turns of the event loop after which everything that follows from the last event has happened. */
const TURNS_TO_SETTLE = 20;
/** Turns of the event loop in which what is due comes, such as the run of a started call, if it ever does. */
const TURNS_TO_RUN = 1000;

async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) await setImmediate();
}

export class ReplayStage {
  readonly #options: ReplayStageOptions;
  readonly #pacer: ReplayPacer;
  readonly #comparison: ReplayComparison;
  /** The name of the session; after a fork, that of the fork. */
  #name: string;
  /** The recorded description of the running agent. */
  #description: AgentDescription;
  #process: ReplayProcess | undefined;
  #session: Promise<Session | undefined> | undefined;

  constructor(created: SessionEvent<"session.created">, options: ReplayStageOptions) {
    this.#options = options;
    this.#pacer = new ReplayPacer(options.time, (position) => beginOf(position, options.events));
    this.#comparison = new ReplayComparison(options, this.#pacer);
    this.#description = created.data.agent;
    this.#name = sessionName(options.events, 0) ?? "replay";
    this.#comparison.addName(this.#name);
  }

  /** The first difference; undefined if there is none. */
  async play(): Promise<ReplayDifference | undefined> {
    const { events } = this.#options;
    for (const event of events) {
      if (!comesFromOutside(event, events)) continue;
      if (!(await this.#reached(beginOf(event.position, events) - 1))) break;
      // Events that one command caused together are not repeated twice.
      if (this.#pacer.position >= event.position) continue;
      await this.#pacer.moment(event.position);
      if (this.#comparison.difference !== undefined) break;
      if (isStop(event)) await this.#underWay(event.position);
      this.#repeat(event).catch(() => {
        this.#comparison.missing(event.position);
      });
    }
    if (await this.#reached(events.length)) await settled();
    void this.#process?.end();
    this.#pacer.stop();
    return this.#comparison.difference;
  }

  /** Waits until everything up to a position has happened; false if it does not happen. */
  async #reached(position: number): Promise<boolean> {
    while (this.#pacer.position < position && this.#comparison.difference === undefined) {
      const before = this.#pacer.position;
      await this.#pacer.moved(this.#options.patienceMs);
      // If this process got no CPU in the meantime, overdue events come now.
      for (let turn = 0; turn < TURNS_TO_RUN && this.#pacer.position === before; turn++)
        await setImmediate();
      if (this.#pacer.position === before && !this.#pacer.isHeld)
        this.#comparison.missing(before + 1);
    }
    return this.#comparison.difference === undefined;
  }

  /** Waits until everything runs that is stopped at a position: it was started, and records nothing before its end. */
  async #underWay(position: number): Promise<void> {
    const { events } = this.#options;
    if (isSummarising(position, events) || isConcluded(position, events)) await settled();
    const runs = runningAt(position, events);
    const haveRun = (): boolean => runs.every((start) => this.#process?.hasRun(start));
    for (let turn = 0; turn < TURNS_TO_RUN && !haveRun(); turn++) await setImmediate();
  }

  async #repeat(event: SessionEvent): Promise<void> {
    if (isTimeUp(event)) return this.#process?.endTime();
    const { events, agentOf } = this.#options;
    if (!isCommand(event, events)) {
      this.#session = event.type === "session.forked" ? this.#fork(event) : this.#open(event);
      await this.#session;
      return;
    }
    const session = await this.#session;
    if (session === undefined) return;
    const output = recordedOutput(event, events, agentOf(this.#description));
    await repeatCommand(session, event, events, {
      output,
      strategy: ({ position }) => {
        const [compaction] = recordedCompactions(events.slice(position - 1));
        return compaction && recordedStrategy(compaction, this.#pacer);
      },
    });
  }

  /**
   * Forks the session: events that its process would write from here on do not belong to the fork. Opens
   * the fork at once, unless the recording shows how it was opened.
   */
  async #fork(event: SessionEvent<"session.forked">): Promise<Session | undefined> {
    const { log, events } = this.#options;
    const { position: own, ...forked } = event;
    const { agent, from } = event.data;
    await this.#process?.end();
    // The fork withdrew the messages that waited there.
    const withdrawn = events[own]?.type === "message.withdrawn" ? [events[own]] : [];
    const link = { ...forked, data: { ...forked.data, from: { ...from, session: this.#name } } };
    this.#name = sessionName(events, own) ?? `${this.#name}-${own}`;
    this.#comparison.addName(this.#name);
    await log.fork(this.#name, [link, ...withdrawn]);
    this.#comparison.copied([event, ...withdrawn]);
    this.#description = agent ?? this.#description;
    const position = own + withdrawn.length;
    this.#pacer.advance(position);
    const next = events[position];
    return next === undefined || isOpening(next, undefined) ? undefined : await this.#open(event);
  }

  /** A new process opens the session with the events of the one before. */
  async #open(event: SessionEvent): Promise<Session> {
    const before = this.#process;
    const process = new ReplayProcess(event, {
      ...this.#options,
      pacer: this.#pacer,
      comparison: this.#comparison,
    });
    this.#process = process;
    await before?.end();
    if (event.type === "session.created" || event.type === "session.configured")
      this.#description = event.data.agent;
    const description = this.#description;
    const agent = withRecordedOffer(this.#options.agentOf(description), description);
    return await process.open(this.#name, agent, description.name);
  }
}

/** Whether a caller, a clock or a new process caused an event, rather than the session itself. */
function comesFromOutside(event: SessionEvent, events: readonly SessionEvent[]): boolean {
  const before = events[event.position - 2];
  return isCommand(event, events) || isTimeUp(event) || isOpening(event, before);
}

// Finds what ran when a turn was stopped: whether a started call had reached its tool is replayed, too. Pure.

/** The positions of the starts of the calls whose tools ran at a position. */
function runningAt(position: number, events: readonly SessionEvent[]): readonly number[] {
  return recordedRuns(events.slice(0, lastOf(position, events))).flatMap((run) => {
    const { position: start, data } = run.started;
    const isOver = events
      .slice(start, position - 1)
      .some((event) => isLeft(event) || (isCallEnd(event) && event.data.callId === data.callId));
    return start < position && !isOver && isRun(run) ? [start] : [];
  });
}

/** Whether a stop came after the last part of a model, too late for it. */
function isConcluded(position: number, events: readonly SessionEvent[]): boolean {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type.startsWith("step.") || type.startsWith("part.")),
  );
  return next?.type === "step.finished";
}

/** Whether a model was writing a summary when a stop came, which is recorded. */
function isSummarising(position: number, events: readonly SessionEvent[]): boolean {
  const next = events.find(
    ({ position: place, type }) => place > position && type.startsWith("context."),
  );
  return next?.type === "context.summary-rejected" && next.data.why === "failed";
}

/** The end of the step or turn around a position: later calls may have the same id. */
function lastOf(position: number, events: readonly SessionEvent[]): number {
  const next = events.find(
    ({ position: place, type }) =>
      place > position && (type === "step.started" || type === "turn.ended"),
  );
  return next?.position ?? events.length;
}

/** Whether everything that ran before has ended: its step is over, or its process died. */
function isLeft({ type }: SessionEvent): boolean {
  return type === "step.started" || type === "session.recovered" || type === "session.forked";
}

// The `output` of a recorded message: its turn parses no text, but has the recorded outcome. Pure.

/** Undefined for other events, without structured output, and for an agent with its own, which is compared. */
function recordedOutput(
  event: SessionEvent,
  events: readonly SessionEvent[],
  agent: Agent,
): OutputInterface<unknown> | undefined {
  if (event.type !== "message.queued" || agent.output !== undefined) return undefined;
  const messageId = event.data.id;
  const delivery = events.find(
    ({ type, data }) => type === "message.delivered" && data.ids.includes(messageId),
  );
  if (delivery?.type !== "message.delivered") return undefined;
  const { turn } = delivery.data;
  const end = events.find(({ type, data }) => type === "turn.ended" && data.turn === turn);
  if (end?.type !== "turn.ended") return undefined;
  const { output } = end.data;
  if (output === undefined && !isStoppedAtEnd(events.slice(0, end.position))) return undefined;
  return {
    name: "recorded",
    responseFormat: Promise.resolve(undefined),
    parseCompleteOutput: () => outcomeOf(output),
    parsePartialOutput: () => Promise.resolve(undefined),
    createElementStreamTransform: () => undefined,
  };
}

/** A turn that was stopped while its output was parsed has none: its end waits for the stop. */
async function outcomeOf(output: TurnOutput | undefined): Promise<unknown> {
  if (output?.error !== undefined) throw recordedError(output.error);
  return output?.value ?? null;
}

/** Whether a stop came after the last step of a turn and its calls. */
function isStoppedAtEnd(events: readonly SessionEvent[]): boolean {
  const last = events.findLastIndex(
    ({ type }) => type.startsWith("step.") || type.startsWith("tool."),
  );
  return (
    events[last]?.type === "step.finished" &&
    events.slice(last).some((event) => event.type === "turn.cancel-requested" || isTimeUp(event))
  );
}
