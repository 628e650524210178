/** What a turn may not have more of: time, and repetition. */

import { DEFAULT_LOOP_LIMITS, isLooping } from "../context/index.ts";
import type { EventBody } from "../events/index.ts";
import type { Agent } from "./agent.ts";
import { isInTurn } from "./recovery.ts";
import type { SessionDoor } from "./session-door.ts";
import type { SessionState } from "./session-state.ts";
import type { Timer } from "./timer.ts";

/** Counts the time of a turn while its session is awake, and says in the log when it is up. */
export class TurnClock implements Disposable {
  readonly #door: SessionDoor;
  readonly #agent: Agent;
  readonly #timer: Timer;
  #counting: Disposable | undefined;

  constructor(door: SessionDoor, agent: Agent, timer: Timer) {
    this.#door = door;
    this.#agent = agent;
    this.#timer = timer;
  }

  /** Begins to count for a turn; with a step granted after the time is up, once more for that step. */
  begin(turn: number): void {
    const { turnMs, lastStep = false } = this.#agent.timeLimits ?? {};
    if (turnMs === undefined) return;
    this[Symbol.dispose]();
    const due = (): void => {
      const { machine } = this.#door.state;
      const { context } = machine;
      if (context.turn !== turn || !isInTurn(machine)) return;
      // It is stopping, and nothing runs any more that it could be waiting for.
      if (context.stopping !== undefined && context.skipCalls) return;
      const grant = lastStep && context.stopping === undefined && context.lastStep === undefined;
      this.#door.record({
        type: "turn.limit-reached",
        data: { turn, limit: "time", lastStep: grant },
      });
      if (grant) this.begin(turn);
    };
    this.#counting = this.#timer(turnMs, due, { kind: "turn" });
  }

  [Symbol.dispose](): void {
    this.#counting?.[Symbol.dispose]();
  }
}

/** What is said of a turn that goes in circles, before it takes another step. Pure. */
export function repetition(
  { history, machine }: SessionState,
  { loopGuard = DEFAULT_LOOP_LIMITS }: Agent,
): EventBody | undefined {
  const { turn, lastStep } = machine.context;
  // A step that was granted to conclude in is taken.
  if (loopGuard === false || lastStep !== undefined || !isLooping(history, loopGuard)) {
    return undefined;
  }
  return { type: "turn.limit-reached", data: { turn, limit: "repetition", lastStep: false } };
}
