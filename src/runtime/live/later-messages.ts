/**
 * Delivers messages for later when their time comes: one timer for all sessions of a runtime. It knows
 * the next time of each session, from its actor or from its row in the list; the log has the messages.
 */

import { isElsewhere, TurnlogError } from "../../events/index.ts";
import { type Timer, Background } from "../../shared/index.ts";
import { takeDue } from "../../commands/index.ts";
import type { SessionActor } from "../session/actor.ts";
import { equippedActor, readyActor } from "./ready-actor.ts";
import type { LiveSessions } from "./live-sessions.ts";
import { isBack } from "../api/runtime.ts";

/** Timers may stand still while a machine sleeps, so the clock is read at least this often. */
const LONGEST_WAIT_MS = 5000;

/** Sessions that are activated at the same time. */
const CONCURRENCY = 8;

export interface LaterMessagesOptions {
  readonly live: () => LiveSessions;
  readonly clock: () => number;
  readonly timer: Timer;
  readonly onWarning: (error: TurnlogError) => void;
}

export class LaterMessages implements Disposable {
  readonly #options: LaterMessagesOptions;
  /** The next time of each session, in epoch milliseconds. */
  readonly #next = new Map<string, number>();
  #timer: Disposable | undefined;
  /** The time that the timer waits for. */
  #armedFor = Number.POSITIVE_INFINITY;
  readonly #delivering: Background;

  constructor(options: LaterMessagesOptions) {
    this.#options = options;
    this.#delivering = new Background({ ...options, concurrency: CONCURRENCY });
  }

  /** Notes when the next message of a session is due; undefined if none waits for a time. */
  note(session: string, time: number | undefined): void {
    if (time === undefined) this.#next.delete(session);
    else this.#next.set(session, time);
    if (time !== undefined && time < this.#armedFor) this.#arm(time);
  }

  observe({ session, state }: Pick<SessionActor, "session" | "state">): void {
    const [first] = state.machine.matches("closed") ? [] : state.queue.later;
    this.note(session, first?.notBefore);
  }

  #arm(time: number): void {
    if (this.#delivering.isClosed) return;
    const { clock, timer } = this.#options;
    this.#timer?.[Symbol.dispose]();
    this.#armedFor = time;
    const left = Math.min(Math.max(0, time - clock()), LONGEST_WAIT_MS);
    this.#timer = timer(left, this.#look, { kind: "later" });
  }

  readonly #look = (): void => {
    const now = this.#options.clock();
    const due = [...this.#next]
      .filter(([, time]) => time <= now)
      .toSorted(([, one], [, other]) => one - other)
      .map(([session]) => session);
    for (const session of due) this.#next.delete(session);
    this.#armedFor = Number.POSITIVE_INFINITY;
    const next = this.#next.values().reduce((least, time) => Math.min(least, time), Infinity);
    if (next !== Infinity) this.#arm(next);
    for (const session of due)
      void this.#delivering.run(
        () => this.#deliver(session),
        (cause) => notDelivered(session, cause),
      );
  };

  async #deliver(session: string): Promise<void> {
    const live = this.#options.live();
    for (;;) {
      try {
        await readyActor(live, session);
        const actor = await equippedActor(live, await live.actor(session));
        for (const body of takeDue(actor, this.#options.clock())) actor.record(body);
        await actor.durable();
        return this.observe(actor);
      } catch (error) {
        // The process that runs the session delivers its messages.
        if (isElsewhere(error) && !isBack(error)) return;
        if (TurnlogError.isInstance(error) && error.code === "SESSION_DELETED") return;
        if (!isBack(error)) throw error;
      }
    }
  }

  [Symbol.dispose](): void {
    this.#delivering[Symbol.dispose]();
    this.#timer?.[Symbol.dispose]();
  }
}

function notDelivered(session: string, cause: unknown): TurnlogError {
  return new TurnlogError(
    "SESSION_FAILED",
    `The messages of session ${session} whose time has come could not be delivered. They wait in its log, and are delivered when the store is back or the session is opened.`,
    { session, cause },
  );
}
