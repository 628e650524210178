/**
 * Asks the agent's functions between two steps, in the order of the AI SDK. The answers are recorded:
 * neither a replay nor a restart asks again.
 */

import { metCondition, type PreparedAgent } from "../../agent/index.ts";
import { byId } from "../../events/index.ts";
import type { SessionBlobs } from "../../media/index.ts";
import { stepResults, type SessionRecorder } from "../../state/index.ts";
import type { RunningTurn } from "./running-turn.ts";
import { fromRecord, prepareStep, type RecordedPreparation } from "./step-preparation.ts";

export interface StepBoundaryOptions {
  readonly recorder: SessionRecorder;
  readonly blobs: SessionBlobs;
  readonly turn: RunningTurn;
  /** The agent with the tools that MCP servers offer now. */
  readonly prepared: () => PreparedAgent;
  readonly recordedPreparation: RecordedPreparation | undefined;
}

export class StepBoundary {
  readonly #options: StepBoundaryOptions;
  /** The finished step after which `stopWhen` was asked. */
  #asked = 0;
  #visit = 0;
  /** The step that was prepared last. */
  #made: { readonly step: number; readonly prepared: PreparedAgent } | undefined;

  constructor(options: StepBoundaryOptions) {
    this.#options = options;
  }

  /**
   * Begins the next step, once everybody was asked. Undefined if nobody had to be asked.
   * @param begin - Called with the step's agent, unless the turn ends or moves on.
   * @throws TurnlogError `CALLBACK_FAILED`
   */
  enter(begin: (prepared: PreparedAgent) => void): Promise<void> | undefined {
    const asking = this.#goesOn();
    if (asking === undefined) return this.#prepareStep(begin);
    return asking.then((goesOn) => (goesOn === true ? this.#prepareStep(begin) : undefined));
  }

  #prepareStep(begin: (prepared: PreparedAgent) => void): Promise<void> | undefined {
    this.#deliver();
    const preparing = this.#prepare();
    if (preparing !== undefined)
      return preparing.then((prepared) => {
        if (prepared !== undefined) begin(prepared);
      });
    begin(this.#options.prepared());
    return undefined;
  }

  /**
   * Whether the turn goes on, once `stopWhen` was asked. Resolves to undefined if the turn has meanwhile
   * moved on without the answer, for instance since it was cancelled. Undefined if nobody has to be asked.
   * @throws TurnlogError `CALLBACK_FAILED`
   */
  #goesOn(): Promise<boolean | undefined> | undefined {
    const { recorder, prepared, turn: running } = this.#options;
    const { machine, history } = recorder.state;
    const { stopWhen } = prepared().agent;
    const { step, lastStep } = machine.context;
    const isDue = history.open?.status === "finished" && this.#asked < step;
    if (stopWhen === undefined || !isDue || lastStep !== undefined) return undefined;
    return this.#atOnePlace(async () => {
      const values = { session: recorder.session, ...(await running.context()) };
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
  #deliver(): void {
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

  /**
   * The agent of the next step, once `prepareStep` was asked and its answer recorded. Resolves to
   * undefined if the turn has meanwhile moved on. Undefined if the step has the agent's own settings.
   * @throws TurnlogError `CALLBACK_FAILED`
   */
  #prepare(): Promise<PreparedAgent | undefined> | undefined {
    const { recorder, recordedPreparation: recorded, ...options } = this.#options;
    const { state, session } = recorder;
    const { step } = state.machine.context;
    const prepared = options.prepared();
    const known = state.view.prepared;
    if (known?.step === step + 1) {
      const made = this.#made;
      // After a compaction, or in a process that found the step prepared.
      return this.#atOnePlace(async () => {
        if (made?.step === known.step) return () => made.prepared;
        const { instructions } = state.view;
        const agent = await fromRecord(
          prepared,
          { ...known.overrides },
          instructions,
          recorded !== undefined,
        );
        return () => agent;
      });
    }
    if (prepared.agent.prepareStep === undefined && recorded === undefined) return undefined;
    return this.#atOnePlace(async () => {
      const made = await prepareStep(state, prepared, { ...options, session, recorded });
      return () => {
        for (const event of made.events) {
          const isKnown =
            event.type === "blob.stored" &&
            byId(recorder.state.blobs.stored, event.data.sha256) !== undefined;
          if (!isKnown) recorder.record(event);
        }
        made.apply();
        this.#made = { step: step + 1, prepared: made.prepared };
        return made.prepared;
      };
    });
  }

  /** Applies an answer if the session still waits for it; otherwise drops it, or the error in its place. */
  async #atOnePlace<Answer>(ask: () => Promise<() => Answer>): Promise<Answer | undefined> {
    this.#visit += 1;
    const visit = this.#visit;
    const { recorder } = this.#options;
    const isHere = (): boolean =>
      visit === this.#visit && recorder.state.machine.matches({ streaming: "boundary" });
    try {
      const apply = await ask();
      return isHere() ? apply() : undefined;
    } catch (error) {
      if (!isHere()) return undefined;
      throw error;
    }
  }
}
