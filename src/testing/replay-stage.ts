/** Runs a recorded session again: its processes, one after the other, on one log in memory. */

import { setImmediate } from "node:timers/promises";
import { memoryBlobs } from "../store/blobs/index.ts";
import type { AgentDescription, EventLog, NewEvent, SessionEvent } from "../events/index.ts";
import { createRuntime, type Session, withKnownTools } from "../runtime/index.ts";
import { type Agent, nameOf } from "../agent/index.ts";
import type { Timer } from "../shared/index.ts";
import { withRecordedOffer } from "../mcp/index.ts";
import { isStop, isTimeUp, replayModel, type ReplayPace } from "../models/index.ts";
import { AllowedDifferences, type AllowedDifference } from "./allowed-differences.ts";
import { beginOf, isGone, isOpening, recordedBlobs, sessionName } from "./recorded-processes.ts";
import { endingAt, waitEnd } from "./recorded-endings.ts";
import { isConcluded, isSummarising, runningAt } from "./recorded-stops.ts";
import { recordedOutput } from "./recorded-output.ts";
import { isCommand, repeatCommand } from "./replay-command.ts";
import { isSameEvent, withEffect, withPrompt, type ReplayDifference } from "./replay-difference.ts";
import { recordedPreparations, withRecordedStops } from "./replay-boundaries.ts";
import { ReplayPacer } from "./replay-pacer.ts";
import { replayedContext } from "./replay-summaries.ts";
import { watchedTools } from "./replay-tools.ts";
import { wrapLog } from "./wrapped-log.ts";

export interface ReplayStageOptions {
  readonly log: EventLog;
  readonly events: readonly SessionEvent[];
  /** Positions of steps whose prompts cannot be compared. */
  readonly lostPrompts: ReadonlySet<number>;
  readonly allow: readonly AllowedDifference[];
  readonly agentOf: (recorded: AgentDescription) => Agent;
  readonly patienceMs: number;
  readonly time: ReplayPace;
  /** Called for each event that happened as it was recorded. */
  readonly onEvent: (event: SessionEvent) => void;
}

/** Turns of the event loop after which everything that follows from the last event has happened. */
const TURNS_TO_SETTLE = 20;
/** Turns of the event loop in which the tool of a started call runs, if it ever does. */
const TURNS_TO_RUN = 1000;

async function settled(): Promise<void> {
  for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) await setImmediate();
}

const never = <Value>(): Promise<Value> => new Promise<Value>(() => {});

export class ReplayStage {
  readonly #options: ReplayStageOptions;
  readonly #pacer: ReplayPacer;
  /** The name of the session; after a fork, that of the fork. */
  #name: string;
  /** All names of the session that the log shows. */
  readonly #names = new Set<string>();
  #difference: ReplayDifference | undefined;
  #lastAppend: Promise<unknown> = Promise.resolve();
  /** The number of the live process; events of earlier ones are dropped. */
  #process = 0;
  #opened = 0;
  /** The positions of the starts of the calls whose tools have run. */
  readonly #ran = new Set<number>();
  #session: Promise<Session | undefined> | undefined;
  /** Each ends the time of the running turn or step, which passes only where that was recorded. */
  readonly #clocks = new Set<() => void>();
  readonly #allowed: AllowedDifferences;
  /** The recorded description of the running agent. */
  #description: AgentDescription;

  constructor(created: SessionEvent<"session.created">, options: ReplayStageOptions) {
    this.#options = options;
    this.#pacer = new ReplayPacer(options.time, (position) => beginOf(position, options.events));
    this.#description = created.data.agent;
    this.#allowed = new AllowedDifferences(options.allow);
    this.#name = sessionName(options.events, 0) ?? "replay";
    this.#names.add(this.#name);
  }

  /** The first difference; undefined if there is none. */
  async play(): Promise<ReplayDifference | undefined> {
    const { events } = this.#options;
    for (const event of events) {
      const before = events[event.position - 2];
      if (!isCommand(event, events) && !isTimeUp(event) && !isOpening(event, before)) continue;
      if (!(await this.#reached(beginOf(event.position, events) - 1))) return this.#difference;
      // Events that one command caused together are not repeated twice.
      if (this.#pacer.position >= event.position) continue;
      await this.#pacer.moment(event.position);
      if (this.#difference !== undefined) return this.#difference;
      if (isStop(event)) await this.#underWay(event.position);
      this.#repeat(event).catch(() => {
        this.#refused(event);
      });
    }
    if (await this.#reached(events.length)) await settled();
    this.#process += 1;
    this.#pacer.stop();
    return this.#difference;
  }

  /** Waits until everything runs that is stopped at a position: it was started, and records nothing before its end. */
  async #underWay(position: number): Promise<void> {
    const { events } = this.#options;
    if (isSummarising(position, events) || isConcluded(position, events)) await settled();
    const runs = runningAt(position, events);
    const haveRun = (): boolean => runs.every((start) => this.#ran.has(start));
    for (let turn = 0; turn < TURNS_TO_RUN && !haveRun(); turn++) await setImmediate();
  }

  async #repeat(event: SessionEvent): Promise<void> {
    if (isTimeUp(event)) {
      [...this.#clocks].at(-1)?.();
      return;
    }
    if (!isCommand(event, this.#options.events)) {
      this.#session = event.type === "session.forked" ? this.#fork(event) : this.#open(event);
      await this.#session;
      return;
    }
    const session = await this.#session;
    if (session === undefined) return;
    const { events, agentOf } = this.#options;
    const output = recordedOutput(event, events, agentOf(this.#description));
    await repeatCommand(session, event, events, this.#pacer, output);
  }

  /**
   * Forks the session: events that its process would write from here on do not belong to the fork. Opens
   * the fork at once, unless the recording shows how it was opened.
   */
  async #fork(event: SessionEvent<"session.forked">): Promise<Session | undefined> {
    const { log, events } = this.#options;
    const { position: own, ...forked } = event;
    const { agent, from } = event.data;
    this.#process += 1;
    await this.#lastAppend;
    // The fork withdrew the messages that waited there.
    const taken = events[own]?.type === "message.withdrawn" ? [events[own]] : [];
    const link = { ...forked, data: { ...forked.data, from: { ...from, session: this.#name } } };
    this.#name = sessionName(events, own) ?? `${this.#name}-${own}`;
    this.#names.add(this.#name);
    await log.fork(this.#name, [link, ...taken]);
    for (const one of [event, ...taken]) this.#allowed.happened(one);
    this.#description = agent ?? this.#description;
    const position = own + taken.length;
    this.#pacer.advance(position);
    const next = events[position];
    return next === undefined || isOpening(next, undefined) ? undefined : await this.#open(event);
  }

  /** A new process opens the session with the events of the one before. */
  async #open(event: SessionEvent): Promise<Session> {
    const { log, events, agentOf } = this.#options;
    this.#process += 1;
    const process = this.#process;
    this.#opened = event.position;
    this.#clocks.clear();
    await this.#lastAppend;
    if (event.type === "session.created" || event.type === "session.configured") {
      this.#description = event.data.agent;
    }
    const agent = withRecordedStops(
      withKnownTools(withRecordedOffer(agentOf(this.#description), this.#description)),
      events,
      this.#pacer,
    );
    const preparations = recordedPreparations(agent, events, this.#pacer);
    const rest = events.slice(event.position - 1);
    const next = events[event.position];
    const recovery = [event, next].find((one) => one?.type === "session.recovered");
    const { name } = this.#description ?? {};
    const replayed: Agent = {
      ...agent,
      model: { ...replayModel(rest, this.#pacer), ...nameOf(agent.model) },
      context: replayedContext(agent, rest, this.#pacer, () => this.#pacer.position),
      ...(agent.tools && {
        tools: watchedTools(rest, agent.tools, this.#pacer, ({ started }) => {
          if (process === this.#process) this.#ran.add(started.position);
        }),
      }),
    };
    const runtime = await createRuntime({
      log: this.#logOf(log, process),
      blobs: { store: memoryBlobs(), recorded: recordedBlobs(events) },
      ...(name === undefined ? { agent: replayed } : { agents: { [name]: replayed } }),
      recovery: recovery?.type === "session.recovered" ? recovery.data.policy : "stop",
      maxRecoveries: Number.POSITIVE_INFINITY,
      testing: {
        clock: () => events[Math.min(this.#pacer.position, events.length - 1)]?.time ?? 0,
        timer: this.#timer(process),
        random: () => 0,
        ...(preparations === undefined ? {} : { recordedPreparation: preparations }),
        replayGate: async (ending) => {
          const position = endingAt(events, this.#pacer.position, ending, agent);
          if (position !== undefined) await this.#pacer.due(position);
        },
      },
    });
    const { metadata } = event.type === "session.created" ? event.data : {};
    return await runtime.session(this.#name, {
      ...(name === undefined ? {} : { agent: name }),
      ...(metadata === undefined ? {} : { metadata }),
    });
  }

  /** Waits end where they ended in the recording, without waiting. */
  #timer(process: number): Timer {
    return (_, due, wait) => {
      let isLive = true;
      const end = (): void => {
        if (isLive && process === this.#process) due();
      };
      if (wait.kind === "turn") {
        if (process === this.#process) this.#clocks.add(end);
      } else {
        const position = waitEnd(this.#options.events, this.#pacer.position, wait);
        if (position !== undefined) void this.#pacer.due(position).then(end);
      }
      return {
        [Symbol.dispose]: () => {
          isLive = false;
          this.#clocks.delete(end);
        },
      };
    };
  }

  /** The log as one process sees it. Events of a dead process are dropped. */
  #logOf(log: EventLog, process: number): EventLog {
    return wrapLog(log, {
      append: (session, expected, events) => {
        if (process !== this.#process) return never();
        const revision = typeof expected === "number" ? expected : 0;
        const shared = this.#beforeEnd(revision, events);
        // Later events of this process are dropped.
        if (shared.length < events.length) this.#process += 1;
        if (shared.length === 0) return never();
        const timed = shared.map((event, index) => this.#happened(revision + index + 1, event));
        if (this.#difference !== undefined) return never();
        const appended = log.append(session, expected, timed);
        this.#lastAppend = appended;
        this.#pacer.advance(revision + shared.length);
        return shared.length < events.length ? never() : appended;
      },
      saveSnapshot: (...snapshot) =>
        process === this.#process ? log.saveSnapshot(...snapshot) : never(),
    });
  }

  /**
   * The events of an append that its process still wrote: those before the next process opened the
   * session, or before the fork.
   */
  #beforeEnd(revision: number, events: readonly NewEvent[]): readonly NewEvent[] {
    const { events: recorded } = this.#options;
    const at = events.findIndex((_, index) => isGone(revision + index + 1, this.#opened, recorded));
    return at === -1 ? events : events.slice(0, at);
  }

  /** Compares an event with the recorded one and takes over its time. */
  #happened(position: number, event: NewEvent): NewEvent {
    const recorded = this.#options.events[position - 1];
    // Only the position is still missing.
    const made = { ...event, position } as SessionEvent;
    const named = withEffect(made, recorded, this.#names);
    const compared = this.#allowed.without(named, recorded);
    const replayed = this.#options.lostPrompts.has(position)
      ? withPrompt(compared, recorded)
      : compared;
    if (recorded !== undefined && isSameEvent(recorded, replayed)) {
      this.#allowed.happened(recorded);
      this.#options.onEvent(recorded);
      return { ...event, ...(named === made ? {} : named), time: recorded.time };
    }
    this.#differ({ position, recorded, replayed });
    return event;
  }

  /** A command that the session refuses: the recorded event is missing. */
  #refused(event: SessionEvent): void {
    if (this.#pacer.position >= event.position) return;
    this.#differ({ position: event.position, recorded: event, replayed: undefined });
  }

  #differ(difference: ReplayDifference): void {
    this.#difference ??= difference;
    this.#pacer.stop();
  }

  /** Waits until everything up to a position has happened; false if it does not happen. */
  async #reached(position: number): Promise<boolean> {
    const { events, patienceMs } = this.#options;
    while (this.#pacer.position < position && this.#difference === undefined) {
      const before = this.#pacer.position;
      await this.#pacer.moved(patienceMs);
      if (this.#pacer.position > before || this.#pacer.isHeld) continue;
      if (this.#difference !== undefined) continue;
      const missing = before + 1;
      this.#differ({ position: missing, recorded: events[before], replayed: undefined });
    }
    return this.#difference === undefined;
  }
}
