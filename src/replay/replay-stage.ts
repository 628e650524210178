/**
 * Runs a recorded session again, its processes one after another on one log in memory. What comes from outside
 * (commands, time limits, openings) is repeated where it was recorded; all else must follow from it.
 */

import { setImmediate } from "node:timers/promises";
import {
  isCallEnd,
  type AgentDescription,
  type EventLog,
  type SessionEvent,
} from "../events/index.ts";
import { RecordedOutputs } from "./recorded-outputs.ts";
import type { Session } from "../runtime/index.ts";
import type { Agent } from "../agent/index.ts";
import { withRecordedOffer } from "../mcp/index.ts";
import { isStop, isTimeUp, type ReplayPace } from "../models/index.ts";
import { beginOf, isOpening, sessionName } from "./recorded-endings.ts";
import { isCommand, repeatCommand } from "./replay-command.ts";
import {
  ReplayComparison,
  type ReplayComparisonOptions,
  type ReplayDifference,
} from "./replay-difference.ts";
import { RecordedOrder } from "./recorded-order.ts";
import { ReplayProcess } from "./replay-process.ts";
import { isRun, recordedRuns } from "./replay-tools.ts";
import { recordedCompactions, recordedStrategy } from "./replay-summaries.ts";

export interface ReplayStageOptions extends ReplayComparisonOptions {
  readonly log: EventLog;
  readonly agentOf: (recorded: AgentDescription) => Agent;
  readonly patienceMs: number;
  readonly time: ReplayPace;
}

/** Turns of the event loop in which a session that continues behind its recording shows it. */
const TURNS_TO_SETTLE = 20;
/** Turns in which what is overdue comes, if this process got no CPU in the meantime. */
const OVERDUE_TURNS = 1000;

export class ReplayStage {
  readonly #options: ReplayStageOptions;
  readonly #order: RecordedOrder;
  readonly #comparison: ReplayComparison;
  /** The name of the session; after a fork, that of the fork. */
  #name: string;
  /** The recorded description of the running agent. */
  #description: AgentDescription;
  #process: ReplayProcess | undefined;
  readonly #outputs: RecordedOutputs;
  #session: Promise<Session | undefined> | undefined;
  /** Undefined while it is being opened. */
  #open: Session | undefined;
  /** What came from outside: commands, openings, the ends of time limits. */
  readonly #outside: readonly SessionEvent[];
  #given = 0;

  constructor(created: SessionEvent<"session.created">, options: ReplayStageOptions) {
    this.#options = options;
    this.#order = new RecordedOrder(options.events, options.time);
    this.#comparison = new ReplayComparison(options, this.#order);
    this.#outputs = new RecordedOutputs(options.events, this.#order);
    this.#description = created.data.agent;
    this.#name = sessionName(options.events, 0) ?? "replay";
    this.#comparison.addName(this.#name);
    this.#outside = options.events.filter((event) => comesFromOutside(event, options.events));
  }

  /** The first difference; undefined if there is none. */
  async play(): Promise<ReplayDifference | undefined> {
    const { events, patienceMs } = this.#options;
    this.#give();
    while (this.#order.position < events.length && this.#comparison.difference === undefined) {
      const before = this.#order.position;
      await this.#order.moved(patienceMs);
      for (let turn = 0; turn < OVERDUE_TURNS && this.#order.position === before; turn++)
        await setImmediate();
      if (this.#order.position === before && !this.#order.isHeld)
        this.#comparison.missing(before + 1);
    }
    for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) await setImmediate();
    void this.#process?.end();
    this.#order.stop();
    return this.#comparison.difference;
  }

  /** Repeats what came from outside next, if everything before it has happened. */
  readonly #give = (): void => {
    const { events } = this.#options;
    for (;;) {
      const next = this.#outside[this.#given];
      if (next === undefined || this.#order.position < beginOf(next.position, events) - 1) return;
      this.#given += 1;
      // Events that one command caused together are not repeated twice.
      if (this.#order.hasHappened(next.position)) continue;
      this.#giveWhenDue(next).catch(() => {
        this.#comparison.missing(next.position);
      });
    }
  };

  async #giveWhenDue(event: SessionEvent): Promise<void> {
    const { events, agentOf } = this.#options;
    const due = this.#order.moment(event.position);
    if (due !== undefined) await due;
    // A call that ran when it was stopped must run.
    const running = isStop(event) ? this.#running(event.position) : [];
    if (running.length > 0) await Promise.all(running);
    if (this.#comparison.difference !== undefined) return;
    if (isTimeUp(event)) return this.#process?.endTime();
    if (isOpening(event, events[event.position - 2])) {
      this.#open = undefined;
      const opening = event.type === "session.forked" ? this.#fork(event) : this.#opened(event);
      this.#session = opening;
      const opened = await opening;
      // The next process may have opened it meanwhile.
      if (this.#session === opening) this.#open = opened;
      // After a fork, the recording may show who opened it.
      return this.#give();
    }
    const session = this.#open ?? (await this.#session);
    if (session === undefined) return;
    const output = this.#outputs.of(event, agentOf(this.#description));
    await repeatCommand(session, event, events, {
      output,
      strategy: ({ position }) => {
        const [compaction] = recordedCompactions(events.slice(position - 1));
        return compaction && recordedStrategy(compaction, this.#order);
      },
    });
  }

  /** What ran at a position must run again. */
  #running(position: number): readonly Promise<void>[] {
    const calls = this.#process?.running(runningAt(position, this.#options.events)) ?? [];
    return [...calls, this.#outputs.asked(position)].filter((one) => one !== undefined);
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
    this.#order.advance(position);
    const next = events[position];
    return next === undefined || isOpening(next, undefined) ? undefined : await this.#opened(event);
  }

  /** A new process opens the session with the events of the one before. */
  async #opened(event: SessionEvent): Promise<Session> {
    const before = this.#process;
    const process = new ReplayProcess(event, {
      ...this.#options,
      order: this.#order,
      comparison: this.#comparison,
      given: this.#give,
    });
    this.#process = process;
    await before?.end();
    if (event.type === "session.created" || event.type === "session.configured")
      this.#description = event.data.agent;
    const description = this.#description;
    const agent = this.#outputs.held(
      withRecordedOffer(this.#options.agentOf(description), description),
    );
    return await process.open(this.#name, agent, description.name);
  }
}

/** Whether a caller, a clock or a new process caused an event, rather than the session itself. */
function comesFromOutside(event: SessionEvent, events: readonly SessionEvent[]): boolean {
  const before = events[event.position - 2];
  return isCommand(event, events) || isTimeUp(event) || isOpening(event, before);
}

/** The positions of the starts of the calls whose tools ran at a position. Pure. */
function runningAt(position: number, events: readonly SessionEvent[]): readonly number[] {
  return recordedRuns(events).flatMap((run) => {
    const { position: start, data } = run.started;
    const isOver = events
      .slice(start, position - 1)
      .some((event) => isLeft(event) || (isCallEnd(event) && event.data.callId === data.callId));
    return start < position && !isOver && isRun(run) ? [start] : [];
  });
}

/** Whether everything that ran before has ended: its step is over, or its process died. */
function isLeft({ type }: SessionEvent): boolean {
  return type === "step.started" || type === "session.recovered" || type === "session.forked";
}
