/** Limits of a turn: its time, and repetition. */

import { DEFAULT_LOOP_LIMITS, isLooping } from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import type { Agent } from "../../agent/index.ts";
import { isInTurn, type SessionRecorder, type SessionState } from "../../state/index.ts";
import type { Timer } from "../../shared/index.ts";

export interface TurnClockOptions {
  readonly recorder: SessionRecorder;
  readonly timer: Timer;
  /** Called with errors of the timer's callback, which nobody awaits. */
  readonly onFailure: (error: unknown) => void;
}

/** Counts the time of a turn while its session is live, and records when it is up. */
export class TurnClock implements Disposable {
  readonly #options: TurnClockOptions;
  readonly #agent: Agent;
  #counting: Disposable | undefined;

  constructor(agent: Agent, options: TurnClockOptions) {
    this.#options = options;
    this.#agent = agent;
  }

  /** Starts the time of a turn. A step that is granted after it gets the same time again. */
  begin(turn: number): void {
    const { turnMs, lastStep = false } = this.#agent.timeLimits ?? {};
    if (turnMs === undefined) return;
    this[Symbol.dispose]();
    const { timer, onFailure } = this.#options;
    const due = (): void => {
      try {
        this.#end(turn, lastStep);
      } catch (error) {
        onFailure(error);
      }
    };
    this.#counting = timer(turnMs, due, { kind: "turn" });
  }

  #end(turn: number, lastStep: boolean): void {
    const { recorder } = this.#options;
    const { machine } = recorder.state;
    const { context } = machine;
    if (context.turn !== turn || !isInTurn(machine)) return;
    // The turn is stopping already, and its calls are skipped.
    if (context.stopping !== undefined && context.skipCalls) return;
    const grant = lastStep && context.stopping === undefined && context.lastStep === undefined;
    recorder.record({
      type: "turn.limit-reached",
      data: { turn, limit: "time", lastStep: grant },
    });
    if (grant) this.begin(turn);
  }

  [Symbol.dispose](): void {
    this.#counting?.[Symbol.dispose]();
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
