/**
 * Runs a recorded session again, its processes one after another on one log in memory. What comes from outside
 * (commands, time limits, openings) is repeated where it was recorded; all else must follow from it.
 */

import { setImmediate } from "node:timers/promises";
import {
  isCallEnd,
  type AgentDescription,
  type BlobStore,
  type EventLog,
  type SessionEvent,
  type TurnOutput,
} from "../events/index.ts";
import type { Session } from "../runtime/index.ts";
import type { Agent } from "../agent/index.ts";
import { withRecordedOffer } from "../mcp/index.ts";
import { isStop, isTimeUp, recordedError } from "../models/index.ts";
import { beginOf, isOpening, sessionName } from "./recorded-endings.ts";
import { repeatCommand, type RecordedOrder } from "./recorded-order.ts";
import { type StageLane, ReplayProcess } from "./replay-process.ts";
import { isRun, recordedRuns } from "./replay-tools.ts";
import { recordedCompactions, recordedStrategy } from "./replay-summaries.ts";
import type { OutputInterface } from "ai";

interface ReplayStageOptions {
  readonly log: EventLog;
  /** All that was recorded, from `session.created` on. */
  readonly events: readonly SessionEvent[];
  readonly agentOf: (recorded: AgentDescription) => Agent;
  readonly blobs: BlobStore;
  readonly patienceMs: number;
  readonly order: RecordedOrder;
  readonly lane: StageLane;
}

/** Turns of the event loop in which a session that continues behind its recording shows it. */
const TURNS_TO_SETTLE = 20;
/** Turns in which what is overdue comes, if this process got no CPU in the meantime. */
const OVERDUE_TURNS = 1000;

export class ReplayStage {
  readonly #options: ReplayStageOptions;
  readonly #order: RecordedOrder;
  readonly #lane: StageLane;
  /** The name of the session; after a fork, that of the fork. */
  #name: string;
  /** The recorded description of the running agent. */
  #description: AgentDescription;
  #process: ReplayProcess | undefined;
  readonly #outputs: RecordedOutputs;
  #session: Promise<Session | undefined> | undefined;
  /** Undefined while it is being opened. */
  #open: Session | undefined;
  /** What is being given from outside. */
  readonly #giving = new Set<Promise<void>>();
  /** How many events from outside were given. */
  #given = 0;

  constructor(created: SessionEvent<"session.created">, options: ReplayStageOptions) {
    this.#options = options;
    this.#order = options.order;
    this.#lane = options.lane;
    this.#outputs = new RecordedOutputs(options.events, this.#order);
    this.#description = created.data.agent;
    this.#name = sessionName(options.events, 0) ?? "replay";
    this.#lane.addName(this.#name);
    this.#order.onPassed = this.#give;
    this.#lane.onAsked = (answer) => {
      // The question must be recorded first.
      void setImmediate()
        .then(async () => await this.#giveWhenDue(answer))
        .catch(() => {});
    };
  }

  /** Runs the session to the end of the recording, or of its lane. Resolves to its name. */
  async play(): Promise<string> {
    const { events, patienceMs } = this.#options;
    const order = this.#order;
    // One wait for all events until then.
    let resting: Promise<false> | undefined;
    this.#give();
    while (!this.#lane.isOver && (order.position < events.length || order.isHeld)) {
      const before = order.position;
      resting ??= this.#rests().finally(() => (resting = undefined));
      const hasMoved = await Promise.race([order.moved(patienceMs), resting]);
      const turns = hasMoved ? 0 : OVERDUE_TURNS;
      for (let turn = 0; turn < turns && order.position === before; turn++) await setImmediate();
      if (!hasMoved && order.position === before && !order.isHeld) this.#lane.missing(before + 1);
    }
    if (!order.agrees) await this.#atRest();
    for (let turn = 0; turn < TURNS_TO_SETTLE; turn++) await setImmediate();
    await this.#process?.end();
    order.stop();
    return this.#name;
  }

  /** Resolves to false when a session that went its own way waits for nothing but what comes from outside. */
  async #rests(): Promise<false> {
    await this.#order.parted;
    do {
      await Promise.all(this.#giving);
      await (this.#open?.atRest() ?? new Promise<never>(() => {}));
    } while (this.#giving.size > 0);
    return false;
  }

  /** Waits until a session that went its own way ends what it does after the recording's last event. */
  async #atRest(): Promise<void> {
    const session = this.#open;
    if (session === undefined) return;
    const order = this.#order;
    const idle = session.idle().then(() => "idle" as const);
    while (!this.#lane.isOver) {
      const moved = await Promise.race([order.moved(this.#options.patienceMs), idle]);
      if (moved === "idle") return;
      if (!moved && !order.isHeld) return this.#lane.stuck();
    }
  }

  /** Repeats what came from outside next, if everything before it has happened. */
  readonly #give = (): void => {
    const { events } = this.#options;
    for (;;) {
      const next = this.#order.outside[this.#given];
      if (next === undefined || this.#order.position < beginOf(next.position, events) - 1) return;
      this.#given += 1;
      // Events that one command caused together are not repeated twice.
      if (this.#order.hasHappened(next.position)) continue;
      const given = this.#giveWhenDue(next)
        .catch(() => {
          this.#lane.missing(next.position);
        })
        .then(() => {
          this.#giving.delete(given);
          // In a session that goes its own way, no event shows that it was given.
          if (this.#order.agrees || this.#lane.isOver) return;
          this.#order.happened(next.position);
          this.#give();
        });
      this.#giving.add(given);
    }
  };

  async #giveWhenDue(recorded: SessionEvent): Promise<void> {
    const { events, agentOf } = this.#options;
    const { position } = recorded;
    const due = this.#order.moment(position);
    if (due !== undefined) await due;
    // A call that ran when it was stopped must run.
    const running = isStop(recorded) ? this.#running(position) : [];
    if (running.length > 0 && this.#order.agrees)
      await Promise.race([Promise.all(running), this.#order.parted]);
    const event = this.#lane.repeated(recorded);
    if (this.#lane.isOver || event === undefined) return;
    if (isTimeUp(event)) return this.#process?.endTime();
    if (isOpening(recorded, events[position - 2])) {
      this.#open = undefined;
      const opening =
        recorded.type === "session.forked" ? this.#fork(recorded) : this.#opened(recorded);
      this.#session = opening;
      const opened = await opening;
      // The next process may have opened it meanwhile.
      if (this.#session === opening) this.#open = opened;
      // After a fork, the recording may show who opened it.
      return this.#give();
    }
    const session = this.#open ?? (await this.#session);
    if (session === undefined) return;
    const output = this.#outputs.of(recorded, agentOf(this.#description));
    await repeatCommand(session, event, asAsked(events, recorded, event), {
      output,
      strategy: (started) => {
        if (!this.#order.agrees) return undefined;
        const rest = events.slice(started.position - 1).map((one) => this.#lane.moved(one));
        const [compaction] = recordedCompactions(rest);
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
    this.#lane.addName(this.#name);
    await log.fork(this.#name, [link, ...withdrawn]);
    this.#lane.copied([event, ...withdrawn]);
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

/** The events with the question about the call that is answered, which has another id in this lane. Pure. */
function asAsked(
  events: readonly SessionEvent[],
  recorded: SessionEvent,
  answer: SessionEvent,
): readonly SessionEvent[] {
  if (recorded === answer || !isCallEnd(recorded) || !isCallEnd(answer)) return events;
  const { step, callId } = answer.data;
  return events.map((event) =>
    event.type === "tool.output-requested" &&
    event.data.step === recorded.data.step &&
    event.data.callId === recorded.data.callId
      ? { ...event, data: { ...event.data, step, callId } }
      : event,
  );
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

// The structured outputs of a replayed session: a turn ends with its output where its end was recorded. A turn whose
// message had an `output`, which no log has, gets the recorded outcome. For the stage.

type Output = OutputInterface<unknown>;

class RecordedOutputs {
  readonly #events: readonly SessionEvent[];
  readonly #order: RecordedOrder;
  /** By the position of a turn's end: resolved once its output is asked for. */
  readonly #asked = new Map<number, PromiseWithResolvers<void>>();

  /** Whether the agent has an output. */
  #isOwn = false;

  constructor(events: readonly SessionEvent[], order: RecordedOrder) {
    this.#events = events;
    this.#order = order;
  }

  /** The agent, whose own output is ready where the turn ended. */
  held({ output, ...agent }: Agent): Agent {
    this.#isOwn = output !== undefined;
    if (output === undefined) return agent;
    let failed: number | undefined;
    const held: typeof output = {
      ...output,
      parseCompleteOutput: async (...given) => {
        const position = this.#order.position + 1;
        const isRepair = failed === position;
        failed = position;
        const parsed: Promise<unknown> = output.parseCompleteOutput(...given);
        await this.#ready(position);
        const value = await parsed;
        // An earlier release repaired no text.
        const recorded = this.#endAfter(position)?.data.output;
        if (isRepair && this.#order.agrees && recorded?.error !== undefined) outcomeOf(recorded);
        return value;
      },
    };
    return { ...agent, output: held };
  }

  /** The output of a recorded message; undefined without one, and for an agent with its own, which is compared. */
  of(event: SessionEvent, agent: Agent): Output | undefined {
    if (event.type !== "message.queued" || agent.output !== undefined) return undefined;
    const messageId = event.data.id;
    const delivery = this.#events.find(
      ({ type, data }) => type === "message.delivered" && data.ids.includes(messageId),
    );
    const end = delivery && this.#endAfter(delivery.position);
    if (end === undefined) return undefined;
    const { output } = end.data;
    if (output === undefined && !isStoppedAtEnd(this.#events.slice(0, end.position)))
      return undefined;
    this.#askedFor(end.position);
    return {
      name: "recorded",
      responseFormat: Promise.resolve(undefined),
      parseCompleteOutput: async ({ text }) => {
        await this.#ready(end.position);
        if (!this.#order.agrees) return parsed(text, output);
        // It is read again, as it was then.
        if (output?.repaired === true) JSON.parse(text);
        return outcomeOf(output);
      },
      parsePartialOutput: () => Promise.resolve(undefined),
      createElementStreamTransform: () => undefined,
    };
  }

  /** Resolves when the output of the turn that was stopped at a position is asked for. Undefined: it was not. */
  asked(position: number): Promise<void> | undefined {
    const end = this.#endAfter(position)?.position ?? position;
    const isParsed = this.#isOwn || this.#asked.has(end);
    if (!isParsed || !isStoppedAtEnd(this.#events.slice(0, position))) return undefined;
    return this.#askedFor(end).promise;
  }

  async #ready(position: number): Promise<void> {
    const end = this.#endAfter(position)?.position ?? position;
    this.#askedFor(end).resolve();
    await this.#order.due(end);
  }

  #askedFor(end: number): PromiseWithResolvers<void> {
    const asked = this.#asked.get(end) ?? Promise.withResolvers<void>();
    this.#asked.set(end, asked);
    return asked;
  }

  #endAfter(position: number): SessionEvent<"turn.ended"> | undefined {
    const end = this.#events.find(
      ({ position: at, type }) => at >= position && type === "turn.ended",
    );
    return end?.type === "turn.ended" ? end : undefined;
  }
}

/** Another text in a form like the recorded one: no log has the schema. */
function parsed(text: string, output: TurnOutput | undefined): unknown {
  return typeof output?.value === "string" ? text : JSON.parse(text);
}

function outcomeOf(output: TurnOutput | undefined): unknown {
  if (output?.error !== undefined) throw recordedError(output.error);
  return output?.value ?? null;
}

/** Whether a stop came after the last step of a turn and its calls: its output was being parsed. */
function isStoppedAtEnd(events: readonly SessionEvent[]): boolean {
  const last = events.findLastIndex(
    ({ type }) => type.startsWith("step.") || type.startsWith("tool.") || type === "turn.started",
  );
  const step = events[last];
  return (
    step?.type === "step.finished" &&
    step.data.finishReason !== "tool-calls" &&
    events.slice(last).some((event) => event.type === "turn.cancel-requested" || isTimeUp(event))
  );
}
