/**
 * A real session on a memory log, with everything around it in the test's hand: its model, its
 * tools, time, and the life of its process. Every event that the runtime records is checked at once
 * against the moves that are possible there.
 */

import { setImmediate } from "node:timers/promises";
import { entriesOf, type RecoveryPolicy, type SessionEvent } from "../../src/events/index.ts";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { isStructural, type MachineState, type MachineStep } from "../../src/machines/index.ts";
import type { SessionSummary } from "../../src/projections/index.ts";
import type { Session, Turn } from "../../src/runtime/index.ts";
import { time } from "./held-time.ts";
import { LaterTimes } from "./later-times.ts";
import { MortalLog, type Store } from "./mortal-log.ts";
import { eventOf, play, type Move } from "./moves.ts";
import { isAtRest, movesAfterCrash, owedMoves, toleratedMoves } from "./possible-moves.ts";
import { SESSION, startProcess, type Process, type ProcessOptions } from "./process.ts";
import { after, beginning, callKey, type Situation, type World } from "./situation.ts";

export type StageSettings = World & Pick<ProcessOptions, "stepSource">;

/** Turns of the event loop, and milliseconds, after which nothing more is going to happen. */
const PATIENCE = { turns: 2000, milliseconds: 3000 };

export class Stage {
  readonly world: StageSettings;
  readonly store: Store;
  /** Where the session was after each event that moves the machine. */
  readonly situations: Situation[] = [beginning];
  /** What was seen and may not be. */
  readonly problems: string[] = [];
  /** The keys of the calls whose tools were run, in order, by whatever process. */
  readonly runs: string[] = [];
  /** The positions of what another release is made to have written. */
  readonly foreign: number[] = [];
  /** What the next process does about an unfinished turn. */
  nextPolicy: RecoveryPolicy = "stop";
  /** By message: the process that has promised a result for it. */
  readonly #promised = new Map<string, Process>();
  readonly #later = new LaterTimes();
  #running: { readonly process: Process; readonly session: Session } | undefined;
  /** The policy of a process that has recorded nothing yet. */
  #opening: RecoveryPolicy | undefined;

  private constructor(world: StageSettings, log: Store["log"]) {
    this.world = world;
    this.store = { log, events: [], durable: 0, onEvent: (event) => this.#watch(event) };
  }

  static async open(world: StageSettings, lifetime?: number): Promise<Stage> {
    const stage = new Stage(world, await openMemoryLog());
    await stage.start("stop", lifetime);
    return stage;
  }

  get situation(): Situation {
    return this.situations.at(-1) ?? beginning;
  }

  get process(): Process {
    if (this.#running === undefined) throw new Error("No process was started.");
    return this.#running.process;
  }

  get session(): Session {
    if (this.#running === undefined) throw new Error("No process was started.");
    return this.#running.session;
  }

  get isAlive(): boolean {
    return this.process.log.isAlive;
  }

  /** Opens the session in a new process, which is to die after so many events that move the machine. */
  async start(policy: RecoveryPolicy, lifetime: number = Number.POSITIVE_INFINITY): Promise<void> {
    time.forget();
    const log = new MortalLog(this.store);
    log.kill(lifetime, isStructural);
    this.#opening = policy;
    const process = await startProcess({
      world: this.world,
      stepSource: this.world.stepSource,
      policy,
      log,
      onModelCall: () => this.#expectDurable("The model is called", "step.started"),
      onToolRun: (key) => {
        this.runs.push(key);
        this.#expectDurable(`The tool of ${key} is run`, "tool.started", key);
      },
      onWarning: (message) => this.problems.push(message),
    });
    const opened: Session[] = [];
    process.opening.then(
      (session) => opened.push(session),
      (error: unknown) => this.problems.push(`The session does not open: ${String(error)}`),
    );
    await this.until("the session opens", () => opened.length > 0);
    for (const session of opened) this.#running = { process, session };
  }

  /** Asks something of the session: it must be answered, and must not be refused. */
  ask(what: string, answer: Promise<unknown>): void {
    const { process } = this;
    process.asked.add(what);
    answer.then(
      () => process.asked.delete(what),
      (error: unknown) => {
        process.asked.delete(what);
        if (process.log.isAlive && !process.closing)
          this.problems.push(`${what}: ${String(error)}`);
      },
    );
  }

  /** The answer to a message: when the message has been dealt with, there must be a result. */
  expectResult({ messageId, result }: Turn): void {
    this.#promised.set(messageId, this.process);
    const settle = (): boolean => this.#promised.delete(messageId);
    result.then(settle, settle);
  }

  /** Messages that have been dealt with, while somebody still waits for the result. */
  resultsOwed(): readonly string[] {
    const { queue, later } = this.situation.machine.context;
    const waiting = [...queue.map(({ id }) => id), ...later];
    return [...this.#promised].flatMap(([id, process]) =>
      process === this.process && !waiting.includes(id) ? [id] : [],
    );
  }

  /** Writes an event that this release does not record, where a process has died. */
  async write(move: Move): Promise<void> {
    if (this.isAlive) throw new Error("Only a dead process's log can be written to.");
    const { log, events } = this.store;
    const position = events.length + 1;
    const event = { ...eventOf(move, this.situation, this.world), position, time: Date.now() };
    this.situations.push({ ...play(this.situation, move, this.world), cut: true });
    this.foreign.push(position);
    events.push(event);
    await log.append(SESSION, position - 1, [event]);
  }

  /** Waits until there is nothing more that the session does by itself, or its process has died. */
  async rest(): Promise<void> {
    // What became due while no process lived.
    time.pass(0);
    await this.until("the session comes to rest", () => !this.isAlive || this.#rests());
    if (!this.isAlive) return;
    const { state, summary } = await this.session.view();
    const [live, logged] = [json(state), json(this.situation.machine)];
    if (live !== logged) this.problems.push(`The session is in ${live}, its log in ${logged}.`);
    const wanted = statusOf(this.situation);
    if (summary.status !== wanted) this.problems.push(`It is ${summary.status}, not ${wanted}.`);
    this.complain();
  }

  /** Waits for what has to come. Nothing in here takes time: what does not come soon never does. */
  async until(what: string, condition: () => boolean): Promise<void> {
    const began = performance.now();
    for (let turn = 0; !condition(); turn++) {
      this.complain();
      const late = performance.now() - began > PATIENCE.milliseconds;
      if (turn > PATIENCE.turns && late) {
        this.problems.push(`Nothing happens any more; awaited: ${what}.`);
      }
      await setImmediate();
    }
    this.complain();
  }

  /** Whether the session went where it was expected to go. */
  compare(step: number, expected: Situation): void {
    const real = this.situations[step];
    if (real === undefined) throw new Error(`The session has not come to step ${step}.`);
    const [gone, wanted] = [json(real.machine), json(expected.machine)];
    if (gone !== wanted) this.problems.push(`The session went to ${gone}, not to ${wanted}.`);
    this.complain();
  }

  /** Fails with everything that is wrong, and with the story so far. */
  complain(): void {
    if (this.problems.length === 0) return;
    const story = this.store.events.map(
      ({ position, type, data }) => `${position} ${type} ${JSON.stringify(data).slice(0, 120)}`,
    );
    throw new Error([...this.problems, "", ...story].join("\n"));
  }

  #watch(event: SessionEvent): void {
    const before = this.situation;
    const situation = after(before, event);
    if (!isStructural(event)) {
      this.situations[this.situations.length - 1] = situation;
      return;
    }
    const policies = this.#opening === undefined ? [] : [this.#opening];
    this.#opening = undefined;
    const afterCrash = movesAfterCrash(before, ...policies);
    const moves = afterCrash.length > 0 ? afterCrash : toleratedMoves(before, this.world);
    // Where to, and what is delivered again, the laws check when it is over.
    const isRewind =
      event.type === "session.rewound" && before.machine.matches({ idle: "waiting" });
    // When a branch is left, what it would run again is withdrawn, and what would steer its turn is postponed.
    const isLeaving =
      (event.type === "message.withdrawn" || event.type === "message.rescheduled") &&
      before.machine.matches("idle") &&
      this.#movesHead;
    const leadsHere = (move: Move): boolean =>
      move.type === "message.queued" && event.type === "message.queued"
        ? move.delivery === event.data.delivery
        : move.type === event.type &&
          json(play(before, move, this.world).machine) === json(situation.machine);
    const isOfLater = afterCrash.length === 0 && movesLater(event, before);
    const isAsked = event.type === "message.rescheduled" && this.#isAsked(`due ${event.data.id}`);
    if (!isAsked) this.problems.push(...this.#later.problems(event));
    this.#later.fold(event);
    if (!isRewind && !isLeaving && !isOfLater && !moves.some(leadsHere)) {
      this.problems.push(`${event.position} ${event.type} may not come here.`);
    }
    this.situations.push(situation);
  }

  #isAsked(what: string): boolean {
    return this.#running?.process.asked.has(what) === true;
  }

  /** Whether a command moves the head (`rewinds.ts`). */
  get #movesHead(): boolean {
    const asked = this.#running?.process.asked ?? new Set<string>();
    return [...asked].some((what) => what.startsWith("cancel and "));
  }

  #rests(): boolean {
    const { model, tools } = this.process;
    const { machine, kinds, started } = this.situation;
    if (!machine.matches("closed") && this.#later.due().length > 0) return false;
    if (owedMoves(this.situation, this.world).length > 0) return false;
    if (machine.matches({ streaming: "calling" })) return model.waits;
    if (machine.matches({ streaming: "backingOff" })) return time.isBackingOff;
    return entriesOf(machine.context.calls).every(([id, call]) => {
      const key = callKey(this.situation, id);
      if (call === "running") return !started.includes(id) || tools.isRunning(key);
      return call !== "waiting" || kinds[id] !== "asking" || tools.isAsked(key);
    });
  }

  /** Law 1: the world is touched only when the log says durably that it is. */
  #expectDurable(what: string, type: "step.started" | "tool.started", key?: string): void {
    const intent = this.store.events.findLast((event) =>
      event.type === "tool.started"
        ? key === `${event.data.step}/${event.data.callId}`
        : key === undefined && event.type === type,
    );
    if (intent === undefined || intent.position > this.store.durable) {
      this.problems.push(`${what} before ${type} is durable.`);
    }
  }
}

/** What a list of sessions says. */
function statusOf(situation: Situation): SessionSummary["status"] {
  const { machine } = situation;
  if (machine.matches("closed")) return "closed";
  if (machine.matches("compacting") && machine.context.compactingFrom === "idle") return "idle";
  if (machine.matches("idle")) return "idle";
  if (!isAtRest(situation)) return "running";
  const asks = entriesOf(machine.context.calls).some(([, call]) => call === "awaiting-approval");
  return asks ? "awaiting-approval" : "awaiting-output";
}

/** What is compared of a state. */
function json({ value, context }: MachineState | MachineStep["snapshot"]): string {
  return JSON.stringify({ value, context });
}

/** Whether a message for later is due, put off again or taken back, or one that waits is put off. */
function movesLater(event: SessionEvent, { machine }: Situation): boolean {
  const { later, queue } = machine.context;
  if (machine.matches("closed")) return false;
  if (event.type === "message.withdrawn") return event.data.ids.every((id) => later.includes(id));
  if (event.type !== "message.rescheduled") return false;
  const { id, notBefore } = event.data;
  return later.includes(id) || (notBefore !== undefined && queue.some((one) => one.id === id));
}
