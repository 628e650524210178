/** Says which model the next attempt calls: the one that the turn stands at by the log, and who takes over from it. */

import type { LanguageModel } from "ai";
import {
  fallbackModels,
  withModel,
  type Agent,
  type PreparedAgent,
  nameOf,
} from "../../agent/index.ts";
import {
  isSameModel,
  type EventBody,
  type FailoverReason,
  type FailureKind,
  type ModelName,
} from "../../events/index.ts";
import { outputOf, standingModel } from "../../projections/index.ts";
import type { Recording } from "./recording.ts";
import type { SessionRecorder } from "../../state/index.ts";

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
  readonly recording: Recording;
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
    const { recorder, recording } = this.#options;
    if (recording.failover !== undefined) {
      const move = recording.failover(recorder.state.position);
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
    const { recorder, recording } = this.#options;
    const name = standingModel(recorder.state.view, prepared.description.model);
    const { model } = prepared.agent;
    // The model of a replay plays them all.
    if (recording.failover !== undefined && typeof model === "object")
      return withModel(prepared, { ...model, ...name });
    return withModel(prepared, modelOf(prepared, name) ?? model);
  }

  /**
   * The move after an attempt that failed; undefined if no model takes over.
   * @param isSpent - Whether the model has had the attempts that it gets while another one is left
   */
  after(prepared: PreparedAgent, { kind, isSpent, promptTokens }: FailedAttempt): Move | undefined {
    const { recorder, recording } = this.#options;
    if (recording.failover !== undefined) return recording.failover(recorder.state.position);
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

// Circuit breakers of a runtime: after some failures for good in a row, steps go past a model at once, so that a
// dead provider costs them nothing. Then one step at a time probes it. In memory: each process finds out for itself.

/** When a circuit opens, and when it is probed. */
export interface CircuitBreaker {
  /** Steps in a row that failed for good before the circuit opens. Default 3. */
  readonly failures?: number;
  /** Milliseconds until a step probes the model, and between probes. Default 30,000. */
  readonly probeAfterMs?: number;
}

/**
 * A model that failed and has not answered since.
 * @example
 * const dead = runtime.circuits().filter(({ state }) => state !== "closed");
 */
export interface Circuit {
  readonly provider: string;
  /** Absent if it is the circuit of the whole provider. */
  readonly modelId?: string;
  /** `half-open`: the next step probes it. */
  readonly state: "closed" | "open" | "half-open";
  /** Failures for good in a row, the last one's kind, and when it or the last probe was: epoch milliseconds. */
  readonly failures: number;
  readonly kind: FailureKind;
  readonly since: number;
}

type Failing = Omit<Circuit, "state" | "since"> & { since: number };

/**
 * What a failure is of: the provider; one model of it; or an account, which only the model's object tells, as another
 * tenant's key may be right.
 */
const scopes: Readonly<Partial<Record<FailureKind, "provider" | "model" | "account">>> = {
  overloaded: "provider",
  network: "provider",
  server: "provider",
  timeout: "provider",
  "not-a-model": "model",
  "rate-limit": "account",
  authentication: "account",
  quota: "account",
};

/** Milliseconds after which an unused circuit is dropped, such as that of a model whose tenant has left. */
const FORGOTTEN_AFTER_MS = 3_600_000;

export class Circuits {
  readonly #failures: number;
  readonly #probeAfterMs: number;
  readonly #clock: () => number;
  readonly #failing = new Map<LanguageModel, Failing>();

  constructor({ failures = 3, probeAfterMs = 30_000 }: CircuitBreaker, clock: () => number) {
    this.#failures = failures;
    this.#probeAfterMs = probeAfterMs;
    this.#clock = clock;
  }

  /** Why the model is not to be called now. */
  openFor(model: LanguageModel): FailureKind | undefined {
    return this.#of(model).find((one) => this.#stateOf(one) === "open")?.kind;
  }

  /** The model is called: if that is a probe, no other step probes it meanwhile. */
  called(model: LanguageModel): void {
    const since = this.#clock();
    for (const one of this.#of(model)) if (this.#stateOf(one) === "half-open") one.since = since;
  }

  /** @param kind - Of a failure for good; undefined if the model answered */
  ended(model: LanguageModel, kind?: FailureKind): void {
    if (kind === undefined) for (const key of keysOf(model)) this.#failing.delete(key);
    const scope = kind && scopes[kind];
    if (scope === undefined || kind === undefined) return;
    const now = this.#clock();
    for (const [key, { since }] of this.#failing)
      if (now - since > FORGOTTEN_AFTER_MS + this.#probeAfterMs) this.#failing.delete(key);
    const { provider, modelId } = nameOf(model);
    const [ofProvider, ofModel] = keysOf(model);
    const key = { provider: ofProvider, model: ofModel, account: model }[scope];
    const failures = (this.#failing.get(key)?.failures ?? 0) + 1;
    const of = scope === "provider" ? { provider } : { provider, modelId };
    this.#failing.set(key, { ...of, failures, kind, since: now });
  }

  list(): readonly Circuit[] {
    return [...this.#failing.values()].map((one) => ({ ...one, state: this.#stateOf(one) }));
  }

  #of(model: LanguageModel): readonly Failing[] {
    return keysOf(model).flatMap((key) => this.#failing.get(key) ?? []);
  }

  #stateOf({ failures, since }: Failing): Circuit["state"] {
    if (failures < this.#failures) return "closed";
    return this.#clock() - since < this.#probeAfterMs ? "open" : "half-open";
  }
}

/** A provider, a model and an account. The texts are no names of models. */
function keysOf(model: LanguageModel): readonly [string, string, LanguageModel] {
  const { provider, modelId } = nameOf(model);
  return [JSON.stringify([provider]), JSON.stringify([provider, modelId]), model];
}
