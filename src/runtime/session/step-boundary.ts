/** Asks the agent's functions between two steps. The answers are recorded: no replay and no restart asks again. */

import {
  metCondition,
  type PreparedAgent,
  awaited,
  preparedCall,
  prepareAgent,
  turnOverrides,
} from "../../agent/index.ts";
import { byId, type EventMap, type StepOverrides } from "../../events/index.ts";
import {
  promptMessages,
  plainEntries,
  turnInstructions,
  type QueuedMessage,
} from "../../projections/index.ts";
import type { SessionBlobs } from "../../media/index.ts";
import { stepResults, type SessionRecorder, type SessionState } from "../../state/index.ts";
import type { StepSetup } from "../lifecycle/turn-lifecycle.ts";
import type { Recording } from "../model/recording.ts";
import type { RunningTurn } from "./running-turn.ts";
import {
  fromRecord,
  namedInstructions,
  otherParts,
  prepareStep,
  type Preparation,
  type PreparationOptions,
  offloadedChange,
  returnedMessages,
} from "./step-preparation.ts";
import { stepPace } from "./loop-pace.ts";
import { toJson } from "../../shared/index.ts";

export interface StepBoundaryOptions {
  readonly recorder: SessionRecorder;
  readonly blobs: SessionBlobs;
  readonly turn: RunningTurn;
  readonly prepared: () => PreparedAgent;
  readonly recording: Pick<Recording, "preparation">;
  /** Reads what limits of spending count besides the session itself. Undefined if none does. */
  readonly readSpending: () => Promise<void> | undefined;
  /** Resolves when the callbacks of the steps before have answered. */
  readonly callbacks: () => Promise<void>;
  /** Calls `onStart` if the turn has not begun for the callbacks. */
  readonly begin: (setup: () => Promise<StepSetup | undefined>) => Promise<void>;
}

export class StepBoundary {
  readonly #options: StepBoundaryOptions;
  /** The finished step after which `stopWhen` was called. */
  #asked = 0;
  #visit = 0;
  /** The step that was prepared last. */
  #call: TurnPreparation | undefined;
  #made: { readonly step: number; readonly prepared: PreparedAgent } | undefined;
  /** Of a replay: the step was prepared, maybe by `prepareCall`, and the recording may prepare it once more. */
  #isUnsettled = false;

  constructor(options: StepBoundaryOptions) {
    this.#options = options;
  }

  /**
   * Begins the next step once the agent's functions have answered. Undefined if there are none to call.
   * @param begin - Called with the step's agent, unless the turn ends or moves on.
   * @throws TurnlogError `CALLBACK_FAILED`
   */
  enter(begin: (prepared: PreparedAgent) => void): Promise<void> | undefined {
    const preparing = this.#prepareTurn();
    if (preparing === undefined) return this.#goOn(begin);
    return preparing.then((isHere) => (isHere === true ? this.#goOn(begin) : undefined));
  }

  endTurn(): void {
    this.#call = undefined;
    // The next turn's first step has the number of a step that this turn prepared and did not begin.
    this.#made = undefined;
    this.#isUnsettled = false;
  }

  /** The agent of the turn: the session's own, or as `prepareCall` changed it. */
  get #agent(): PreparedAgent {
    return this.#call?.prepared ?? this.#options.prepared();
  }

  #prepareTurn(): Promise<boolean | undefined> | undefined {
    const { recorder, recording, prepared, ...options } = this.#options;
    const own = prepared();
    const isDone = this.#call !== undefined || recording.preparation !== undefined;
    if (own.agent.prepareCall === undefined || isDone) return undefined;
    this.#deliver();
    const { state, session } = recorder;
    return this.#atOnePlace(async () => {
      const made = await prepareTurn(state, own, { ...options, session });
      return () => {
        this.#record(made);
        this.#call = made;
        return true;
      };
    });
  }

  #goOn(begin: (prepared: PreparedAgent) => void): Promise<void> | undefined {
    const asking = this.#goesOn();
    if (asking === undefined) return this.#prepareStep(begin);
    return asking.then((goesOn) => (goesOn === true ? this.#prepareStep(begin) : undefined));
  }

  #prepareStep(begin: (prepared: PreparedAgent) => void): Promise<void> | undefined {
    this.#deliver();
    const preparing = this.#prepare();
    if (preparing !== undefined)
      return preparing.then((prepared) => {
        if (prepared === undefined) return undefined;
        return this.#isUnsettled ? this.#prepareStep(begin) : this.#begin(begin, prepared);
      });
    return this.#begin(begin, this.#agent);
  }

  #begin(
    begin: (prepared: PreparedAgent) => void,
    prepared: PreparedAgent,
  ): Promise<void> | undefined {
    const reading = this.#options.readSpending();
    const pace = stepPace();
    if (reading === undefined && pace === undefined) {
      begin(prepared);
      return undefined;
    }
    return this.#atOnePlace(async () => {
      await Promise.all([reading, pace]);
      return () => {
        begin(prepared);
      };
    });
  }

  /**
   * Whether the turn continues, by `stopWhen`. Resolves to undefined if the turn has moved on without the answer,
   * for instance because it was cancelled. Undefined without conditions. @throws TurnlogError `CALLBACK_FAILED`
   */
  #goesOn(): Promise<boolean | undefined> | undefined {
    const { recorder, turn: running } = this.#options;
    const { machine, history } = recorder.state;
    const { stopWhen } = this.#agent.agent;
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

  #record({ events, apply }: Preparation): void {
    const { recorder } = this.#options;
    for (const event of events) {
      const isKnown =
        event.type === "blob.stored" &&
        byId(recorder.state.blobs.stored, event.data.sha256) !== undefined;
      if (!isKnown) recorder.record(event);
    }
    apply();
  }

  /** Records the delivery of the messages that are due. */
  #deliver(): void {
    const { recorder } = this.#options;
    const { machine, queue } = recorder.state;
    const { turn, stepsInTurn, allowed } = machine.context;
    const boundary = stepsInTurn === 0 ? "turn" : "step";
    const due =
      // A turn that was held before its first step has had its messages.
      boundary === "turn" && allowed === undefined
        ? nextMessages(recorder.state)
        : queue.waiting.filter(({ delivery }) => delivery === "steer");
    const ids = due.map(({ id }) => id);
    if (ids.length > 0)
      recorder.record({ type: "message.delivered", data: { ids, turn, boundary } });
  }

  /**
   * The agent of the next step, once the answer of `prepareStep` is recorded. Resolves to undefined if
   * the turn has moved on. Undefined if the step has the agent's own settings. @throws TurnlogError
   * `CALLBACK_FAILED`
   */
  #prepare(): Promise<PreparedAgent | undefined> | undefined {
    const { recorder, recording, ...options } = this.#options;
    const { preparation: recorded } = recording;
    const { state } = recorder;
    const { step } = state.machine.context;
    const own = options.prepared();
    const prepared = this.#agent;
    const known = state.view.prepared;
    const call = this.#call;
    const made = this.#made;
    const isOfCall = call?.step === step + 1 && made?.step !== step + 1;
    // Its process died while it asked `prepareStep`.
    const isHalf =
      known?.by === "prepareCall" &&
      made?.step !== step + 1 &&
      prepared.agent.prepareStep !== undefined;
    if (recorded === undefined && known?.step === step + 1 && !isOfCall && !isHalf) {
      // After a compaction, or in a process that found the step prepared.
      return this.#atOnePlace(async (isHere) => {
        if (made?.step === known.step) return () => made.prepared;
        const instructions = turnInstructions(state);
        const agent = await fromRecord(prepared, { ...known.overrides }, instructions, false);
        const wanted = known.agentDigest ?? own.description.digest;
        if (agent.description.digest === wanted) return () => agent;
        // Its instructions were redacted, or its program makes other tools now: what is sent must be recorded.
        return await this.#askForStep(isHere);
      });
    }
    const { digest } = own.description;
    const isSame = call?.overrides === undefined && prepared.description.digest === digest;
    const isPlain = prepared.agent.prepareStep === undefined && (isSame || isOfCall);
    if (isPlain && recorded === undefined) return undefined;
    return this.#atOnePlace(async (isHere) => await this.#askForStep(isHere));
  }

  /** Asks `prepareStep`, or takes the recorded answer of a replay. */
  async #askForStep(isHere: () => boolean): Promise<() => PreparedAgent> {
    const { recorder, recording, ...options } = this.#options;
    const { preparation: recorded } = recording;
    const { state, session } = recorder;
    await options.begin(async () => {
      const setup = await this.#setup();
      return isHere() ? setup : undefined;
    });
    const next = await prepareStep(state, this.#agent, {
      ...options,
      session,
      recorded,
      own: options.prepared(),
      overrides: this.#call?.overrides,
    });
    return () => {
      this.#record(next);
      this.#isUnsettled = recorded !== undefined && next.events.length > 0;
      this.#made = { step: state.machine.context.step + 1, prepared: next.prepared };
      return next.prepared;
    };
  }

  /** The turn before `prepareStep` changes it. */
  async #setup(): Promise<StepSetup> {
    const { recorder, blobs, turn } = this.#options;
    const { history, view } = recorder.state;
    const prepared = this.#agent;
    const { signal } = new AbortController();
    const context = await turn.context();
    const messages = await blobs.forAgent(prepared).expand(promptMessages(history, view));
    return { agent: prepared.agent, messages, context, output: turn.output, signal };
  }

  /** Applies an answer if the session still waits for it; otherwise drops it, or the error in its place. */
  async #atOnePlace<Answer>(
    ask: (isHere: () => boolean) => Promise<() => Answer>,
  ): Promise<Answer | undefined> {
    this.#visit += 1;
    const visit = this.#visit;
    const { recorder } = this.#options;
    const isHere = (): boolean =>
      visit === this.#visit && recorder.state.machine.matches({ streaming: "boundary" });
    try {
      // As in the AI SDK: the agent's functions see what its callbacks have changed.
      await this.#options.callbacks();
      const apply = await ask(isHere);
      return isHere() ? apply() : undefined;
    } catch (error) {
      if (!isHere()) return undefined;
      throw error;
    }
  }
}

// Prepares a turn as the agent's `prepareCall` says: its agent, its messages and its context.

/** A prepared turn. `overrides` are recorded with each of its steps. */
interface TurnPreparation extends Preparation {
  /** Its next step, which its event is about. */
  readonly step: number;
  readonly overrides: StepOverrides | undefined;
}

/** @throws TurnlogError `CALLBACK_FAILED` */
async function prepareTurn(
  state: SessionState,
  prepared: PreparedAgent,
  { session, turn, blobs }: Pick<PreparationOptions, "session" | "turn" | "blobs">,
): Promise<TurnPreparation> {
  const { history, view, machine } = state;
  const messages = promptMessages(history, view);
  const call = { options: await turn.options(), messages, context: await turn.context() };
  const { agent, messages: returned, context } = await preparedCall(prepared.agent, call);
  const made = await prepareAgent(agent);
  const overrides = turnOverrides(prepared.agent, agent);
  // After a restart in the middle of a turn, the log has its messages and instructions.
  const isKnown = view.prepared?.step === machine.context.step + 1;
  const isFirst = machine.context.stepsInTurn === 0 && !isKnown;
  const own = new Set([...messages, ...plainEntries(history, view).map(({ message }) => message)]);
  const change = await awaited("prepareCall", async () =>
    returned === undefined || !isFirst
      ? undefined
      : await returnedMessages(session, state, returned, own),
  );
  const offloaded = change && (await offloadedChange(change, blobs));
  const instructions = toJson(agent.instructions ?? "");
  const isNew = JSON.stringify(instructions) !== JSON.stringify(prepared.agent.instructions ?? "");
  const { digest } = made.description;
  const named = namedInstructions(state, isNew && isFirst ? instructions : undefined);
  const data: EventMap["step.prepared"] = {
    turn: machine.context.turn,
    step: machine.context.step + 1,
    by: "prepareCall",
    ...(offloaded === undefined ? {} : { messages: offloaded.content }),
    ...named.data,
    ...(overrides === undefined ? {} : { overrides }),
    ...(digest === prepared.description.digest
      ? {}
      : { agentDigest: digest, ...otherParts(prepared, made) }),
  };
  const isChanged = Object.keys(data).length > 3;
  return {
    prepared: made,
    // Of a step that the log has prepared, the record counts.
    step: isKnown ? 0 : data.step,
    overrides,
    events:
      isChanged && !isKnown
        ? [...(offloaded?.stored ?? []), ...named.events, { type: "step.prepared", data }]
        : [],
    apply: () => {
      offloaded?.[Symbol.dispose]();
      turn.change({ ...call.context, ...context });
    },
  };
}

// The messages that the next turn begins with. Pure.

/**
 * The messages that the next turn begins with: all that wait. The first turn after an edit or a regeneration has
 * its own alone, since the others were sent after the reply that it replaces.
 */
function nextMessages({ queue, branches, history }: SessionState): readonly QueuedMessage[] {
  const { waiting } = queue;
  const { all, switches } = branches;
  const active = all.find(({ id }) => id === switches.at(-1)?.branch);
  const { id: from = 0, again = [], edit } = active ?? {};
  const ids = new Set([...again, ...(edit === undefined ? [] : [edit.by])]);
  if (ids.size === 0) return waiting;
  const since = history.items.filter(({ position }) => position > from);
  if (since.some(({ kind }) => kind === "turn-end")) return waiting;
  const own = waiting.filter(({ id }) => ids.has(id));
  const hasBegun = since.some((item) => item.kind === "user" && ids.has(item.id));
  return own.length > 0 || hasBegun ? own : waiting;
}
