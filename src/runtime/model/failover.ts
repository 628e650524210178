/** Says which model the next attempt calls: the one that the turn stands at by the log, and who takes over from it. */

import type { LanguageModel } from "ai";
import { fallbackModels, withModel, type Agent, type PreparedAgent } from "../../agent/index.ts";
import {
  isSameModel,
  type EventBody,
  type FailoverReason,
  type FailureKind,
  type ModelName,
} from "../../events/index.ts";
import { outputOf, standingModel } from "../../projections/index.ts";
import type { SessionRecorder } from "../../state/index.ts";
import type { Circuits } from "./circuits.ts";

type Move = EventBody<"step.failed-over">;

/** @param promptTokens - The estimate of the next prompt; undefined before it is made */
export type LimitReached = (
  recorder: Pick<SessionRecorder, "session" | "state">,
  model: ModelName,
  promptTokens: number | undefined,
) => EventBody<"turn.limit-reached" | "turn.held"> | undefined;

export interface FailoverOptions {
  readonly recorder: SessionRecorder;
  /** Undefined: every model is called, whatever happened before. */
  readonly circuits: Circuits | undefined;
  /** In a replay: the recorded move, if it comes after a position. */
  readonly recordedFailover: ((position: number) => Move | undefined) | undefined;
  readonly limitReached: LimitReached | undefined;
}

interface FailedAttempt {
  readonly kind: FailureKind;
  readonly isSpent: boolean;
  /** The size of the prompt that the next model gets. */
  readonly promptTokens: () => number;
}

export class Failover {
  readonly #options: FailoverOptions;

  constructor(options: FailoverOptions) {
    this.#options = options;
  }

  /** The agent of a step that begins. Goes past a model that is not to be called. */
  begin(prepared: PreparedAgent): PreparedAgent {
    const { recorder, recordedFailover } = this.#options;
    if (recordedFailover !== undefined) {
      const move = recordedFailover(recorder.state.position);
      if (move !== undefined) recorder.record(move);
      return this.standing(prepared);
    }
    const { agent, description } = prepared;
    const standing = standingModel(recorder.state.view, description.model);
    if (modelOf(prepared, standing) === undefined) {
      // The process that moved there had another agent.
      recorder.record(this.#move(standing, description.model, "not-in-agent"));
      return prepared;
    }
    if (agent.fallback === undefined) return prepared;
    const now = this.standing(prepared);
    const kind = this.#options.circuits?.openFor(now.agent.model);
    const next = kind && this.#next(now, kind);
    if (next !== undefined) recorder.record(this.#move(standing, next.name, "circuit-open"));
    return this.calling(prepared);
  }

  /** The same for the next attempt, which calls that model. */
  calling(prepared: PreparedAgent): PreparedAgent {
    const now = this.standing(prepared);
    this.#options.circuits?.called(now.agent.model);
    return now;
  }

  /** The agent with the model that the turn stands at. */
  standing(prepared: PreparedAgent): PreparedAgent {
    const { recorder, recordedFailover } = this.#options;
    const name = standingModel(recorder.state.view, prepared.description.model);
    const { model } = prepared.agent;
    // The model of a replay plays them all.
    if (recordedFailover !== undefined && typeof model === "object")
      return withModel(prepared, { ...model, ...name });
    return withModel(prepared, modelOf(prepared, name) ?? model);
  }

  /**
   * The move after an attempt that failed; undefined if no model takes over.
   * @param isSpent - Whether the model has had the attempts that it gets while another one is left
   */
  after(prepared: PreparedAgent, { kind, isSpent, promptTokens }: FailedAttempt): Move | undefined {
    const { recorder, recordedFailover } = this.#options;
    if (recordedFailover !== undefined) return recordedFailover(recorder.state.position);
    if (!isSpent) return undefined;
    const { history, machine } = recorder.state;
    const { step, attempt } = machine.context;
    const output = outputOf(history, step);
    if (output === "effects") return undefined;
    if (output === "words" && prepared.agent.continueOn !== "partial") return undefined;
    const next = this.#next(prepared, kind, promptTokens);
    if (next === undefined) return undefined;
    const { model: from } = prepared.description;
    return { type: "step.failed-over", data: { step, attempt, from, to: next.name, why: kind } };
  }

  /** The model that a summary begins with. */
  summariser(prepared: PreparedAgent): LanguageModel {
    const { circuits } = this.#options;
    const { model: own } = prepared.agent;
    const kind = circuits?.openFor(own);
    const model = (kind && this.#next(prepared, kind)?.model) ?? own;
    circuits?.called(model);
    return model;
  }

  /** The model that writes a summary after others failed. */
  summarisesNext(
    prepared: PreparedAgent,
    failed: readonly ModelName[],
    kind: FailureKind,
    promptTokens: number,
  ): LanguageModel | undefined {
    return this.#next(prepared, kind, () => promptTokens, failed)?.model;
  }

  /** @param kind - Of a failure for good; undefined if the model answered */
  ended(model: LanguageModel, kind?: FailureKind): void {
    this.#options.circuits?.ended(model, kind);
  }

  /** A model that has not failed in this turn, whose circuit is not open, and that the limits of spending allow. */
  #next(
    { agent, description }: PreparedAgent,
    kind: FailureKind,
    promptTokens?: () => number,
    failed: readonly ModelName[] = [description.model],
  ): ReturnType<typeof fallbackModels>[number] | undefined {
    const { recorder, circuits, limitReached } = this.#options;
    const gone = [...failed, ...(recorder.state.view.failover?.moves ?? []).map(from)];
    return fallbackModels(agent).find(
      ({ name, when, model }) =>
        when.has(kind) &&
        !gone.some((one) => isSameModel(one, name)) &&
        circuits?.openFor(model) === undefined &&
        (promptTokens === undefined ||
          limitReached?.(recorder, name, promptTokens()) === undefined),
    );
  }

  #move(from: ModelName, to: ModelName, why: FailoverReason): Move {
    const step = this.#options.recorder.state.machine.context.step + 1;
    return { type: "step.failed-over", data: { step, from, to, why } };
  }
}

function from(move: { readonly from: ModelName }): ModelName {
  return move.from;
}

/** The model of that name that a step may call; undefined if there is none. */
function modelOf(
  { agent, description }: PreparedAgent,
  name: ModelName,
): Agent["model"] | undefined {
  if (isSameModel(description.model, name)) return agent.model;
  return fallbackModels(agent).find((one) => isSameModel(one.name, name))?.model;
}
