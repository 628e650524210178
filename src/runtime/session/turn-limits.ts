/** Limits of a turn: its time, and repetition. */

import { DEFAULT_LOOP_LIMITS, isLooping } from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import { type Agent, turnLimits } from "../../agent/index.ts";
import { isAtRest, isInTurn, type SessionRecorder, type SessionState } from "../../state/index.ts";
import type { Timer } from "../../shared/index.ts";

export interface TurnClockOptions {
  readonly recorder: SessionRecorder;
  readonly timer: Timer;
  /** Called with errors of the timer's callback, which no caller awaits. */
  readonly onFailure: (error: unknown) => void;
}

/**
 * Counts the time of a turn and of its steps while the session is live, and records when one of them is
 * up. Waiting for people does not count: an answer restarts the time.
 */
export class TurnClock implements Disposable {
  readonly #options: TurnClockOptions;
  readonly #agent: Agent;
  #turn: Disposable | undefined;
  #step: Disposable | undefined;

  constructor(agent: Agent, options: TurnClockOptions) {
    this.#options = options;
    this.#agent = agent;
  }

  /** Starts the time of a turn. A step that is granted after it gets the same time again. */
  begin(turn: number): void {
    this[Symbol.dispose]();
    this.#turn = this.#limit(turn, turnLimits(this.#agent).totalMs);
  }

  beginStep(turn: number): void {
    this.endStep();
    this.#step = this.#limit(turn, turnLimits(this.#agent).stepMs);
  }

  endStep(): void {
    this.#step?.[Symbol.dispose]();
  }

  /** Restarts both times. */
  resume(turn: number): void {
    this.begin(turn);
    this.beginStep(turn);
  }

  #limit(turn: number, limitMs: number | undefined): Disposable | undefined {
    if (limitMs === undefined) return undefined;
    const { timer, onFailure } = this.#options;
    const due = (): void => {
      try {
        this.#end(turn);
      } catch (error) {
        onFailure(error);
      }
    };
    return timer(limitMs, due, { kind: "turn" });
  }

  #end(turn: number): void {
    const { recorder } = this.#options;
    const { machine } = recorder.state;
    const { context } = machine;
    const { lastStep = false } = this.#agent.timeLimits ?? {};
    if (context.turn !== turn || !isInTurn(machine) || isAtRest(recorder.state)) return;
    // The turn is stopping already, and its calls are skipped.
    if (context.stopping !== undefined && context.skipCalls) return;
    const isReplied = machine.matches({ streaming: "ending" });
    const isStopping = context.stopping !== undefined || context.lastStep !== undefined;
    const grant = lastStep && !isReplied && !isStopping;
    recorder.record({
      type: "turn.limit-reached",
      data: { turn, limit: "time", lastStep: grant },
    });
    if (grant) this.begin(turn);
  }

  [Symbol.dispose](): void {
    this.#turn?.[Symbol.dispose]();
    this.endStep();
  }
}

/** The event that stops a turn which repeats itself, before its next step. Pure. */
export function repetition(
  { history, machine }: SessionState,
  { loopGuard = DEFAULT_LOOP_LIMITS }: Agent,
): EventBody | undefined {
  const { turn, lastStep } = machine.context;
  // A granted last step is always taken.
  if (loopGuard === false || lastStep !== undefined || !isLooping(history, loopGuard)) {
    return undefined;
  }
  return { type: "turn.limit-reached", data: { turn, limit: "repetition", lastStep: false } };
}
