/**
 * Asks the agent's functions between two steps, in the order of the AI SDK. The answers are recorded:
 * neither a replay nor a restart asks again.
 */

import { metCondition, type Agent, type TurnContext } from "../../agent/index.ts";
import { stepResults, type SessionRecorder } from "../../state/index.ts";

export interface StepBoundaryOptions {
  readonly recorder: SessionRecorder;
  /** The agent with the tools that MCP servers offer now. */
  readonly agent: () => Agent;
  readonly context: () => Promise<Required<TurnContext>>;
}

export class StepBoundary {
  readonly #options: StepBoundaryOptions;
  /** The finished step after which `stopWhen` was asked. */
  #asked = 0;
  #visit = 0;

  constructor(options: StepBoundaryOptions) {
    this.#options = options;
  }

  /**
   * Whether the turn goes on, once `stopWhen` was asked. Resolves to false too if the turn has meanwhile
   * gone on without the answer, for instance since it was cancelled. Undefined if nobody has to be asked.
   * @throws TurnlogError `CALLBACK_FAILED`
   */
  goesOn(): Promise<boolean> | undefined {
    const { recorder, agent } = this.#options;
    const { machine, history } = recorder.state;
    const { stopWhen } = agent();
    const { step, lastStep } = machine.context;
    const isDue = history.open?.status === "finished" && this.#asked < step;
    if (stopWhen === undefined || !isDue || lastStep !== undefined) return undefined;
    return this.#atOnePlace(async () => {
      const values = { session: recorder.session, ...(await this.#options.context()) };
      const condition = await metCondition(stopWhen, stepResults(history, values));
      return () => {
        this.#asked = step;
        if (condition === undefined) return true;
        const { turn } = machine.context;
        recorder.record({
          type: "turn.limit-reached",
          data: { turn, limit: "stop-condition", lastStep: false, condition },
        });
        return false;
      };
    });
  }

  /** Records the delivery of the messages that are due. */
  deliver(): void {
    const { recorder } = this.#options;
    const { machine, queue } = recorder.state;
    const { turn, stepsInTurn } = machine.context;
    const boundary = stepsInTurn === 0 ? "turn" : "step";
    const ids = queue.waiting
      .filter(({ delivery }) => boundary === "turn" || delivery === "steer")
      .map(({ id }) => id);
    if (ids.length > 0)
      recorder.record({ type: "message.delivered", data: { ids, turn, boundary } });
  }

  /** Applies an answer if the session still waits for it; otherwise drops it, or the error in its place. */
  async #atOnePlace(ask: () => Promise<() => boolean>): Promise<boolean> {
    this.#visit += 1;
    const visit = this.#visit;
    const { recorder } = this.#options;
    const isHere = (): boolean =>
      visit === this.#visit && recorder.state.machine.matches({ streaming: "boundary" });
    try {
      const apply = await ask();
      return isHere() && apply();
    } catch (error) {
      if (!isHere()) return false;
      throw error;
    }
  }
}
