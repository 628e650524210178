/**
 * Circuit breakers of a runtime: after some failures for good in a row, steps go past a model at once, so that a dead
 * provider costs them nothing. Then one step at a time probes it. In memory: each process finds out for itself.
 */

import type { LanguageModel } from "ai";
import { nameOf } from "../../agent/index.ts";
import type { FailureKind } from "../../events/index.ts";

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

/** Milliseconds after which a circuit that nobody uses is forgotten: the models of tenants that are gone. */
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
