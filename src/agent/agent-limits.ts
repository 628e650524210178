/** The limits of an agent in time and number, by the AI SDK's names and turnlog's own. */

import { defined, byId, type FailureKind } from "../events/index.ts";
import { onAbort, type ModelLimit, type Timer } from "../shared/index.ts";
import type { StepResult, ToolSet } from "ai";
import type { z } from "zod";
import { thing } from "../validation/index.ts";
import { awaited } from "./user-callbacks.ts";

/**
 * The AI SDK's `timeout`: milliseconds for a turn, or for each of its parts. Absent or `Infinity` means no limit.
 */
export type AgentTimeout =
  | number
  | {
      /** For a turn. Waiting for approval does not count: the time starts over when an answer comes. */
      readonly totalMs?: number;
      /** For a step: its attempts and its tools. Ends the turn, as `totalMs` does. */
      readonly stepMs?: number;
      /** For a model call until its first content. */
      readonly firstChunkMs?: number;
      /** For a model call between two parts of its content. */
      readonly chunkMs?: number;
      /** For each call of a tool. */
      readonly toolMs?: number;
      /** For the calls of one tool, as `<tool>Ms`. */
      readonly tools?: Readonly<Record<string, number | undefined>>;
    };

/** Limits that the AI SDK has no name for. */
export interface TimeLimits {
  /** Milliseconds for one attempt at a model call. Default: no limit. */
  readonly callMs?: number;
  /**
   * Milliseconds to wait before another attempt, at most. If the provider asks for more, the turn fails at once,
   * with `retryAfterMs` in the error's `details`. Default 60,000.
   */
  readonly retryDelayMs?: number;
  /** Grants the model one more step to conclude when the turn's time is up. Default false. */
  readonly lastStep?: boolean;
}

interface Limited {
  readonly timeout?: AgentTimeout;
  readonly timeLimits?: TimeLimits;
  readonly maxRetries?: number;
  readonly toolCallConcurrency?: number;
}

type Parts = Exclude<AgentTimeout, number>;

function parts({ timeout = {} }: Limited): Parts {
  return typeof timeout === "number" ? { totalMs: timeout } : timeout;
}

export function turnLimits(agent: Limited): Pick<Parts, "totalMs" | "stepMs"> {
  return parts(agent);
}

export function callLimits(agent: Limited): CallLimits {
  const { firstChunkMs, chunkMs } = parts(agent);
  const { callMs } = agent.timeLimits ?? {};
  return defined({ firstTokenMs: firstChunkMs, betweenTokensMs: chunkMs, callMs });
}

/** Milliseconds that a call of the tool may run; undefined for no limit. */
export function toolTimeoutMs(agent: Limited, toolName: string): number | undefined {
  const { tools = {}, toolMs } = parts(agent);
  return byId(tools, `${toolName}Ms`) ?? toolMs;
}

/** Attempts at a model call, the first included. */
export function maxAttempts({ maxRetries = 2 }: Limited): number {
  return maxRetries + 1;
}

/** How often a model is called, and how long the longest wait between two calls may be. */
export interface RetryLimits {
  readonly attempts: number;
  readonly delayMs: number;
}

export function retryLimits(agent: Limited): RetryLimits {
  return { attempts: maxAttempts(agent), delayMs: agent.timeLimits?.retryDelayMs ?? 60_000 };
}

/** While another model is left: a long wait for this one would cost more than the other's call. */
export function hastyLimits({ maxRetries, timeLimits }: Limited, kind: FailureKind): RetryLimits {
  return retryLimits({
    // A timeout has cost all of its limit already.
    maxRetries: maxRetries ?? (kind === "timeout" ? 0 : 1),
    timeLimits: { retryDelayMs: 2000, ...timeLimits },
  });
}

export function toolConcurrency({ toolCallConcurrency }: Limited): number {
  return toolCallConcurrency ?? Number.POSITIVE_INFINITY;
}

// The time limits of a model call: until its first token, between tokens, and in all.

/** Milliseconds. An absent limit means no limit. */
interface CallLimits {
  readonly firstTokenMs?: number;
  readonly betweenTokensMs?: number;
  readonly callMs?: number;
}

interface CallWatchOptions {
  readonly signal: AbortSignal;
  readonly timer: Timer;
}

/** Watches one call. Its signal aborts with a `TimeoutError` when a limit is exceeded, or with the outer signal. */
export class CallWatch implements Disposable {
  readonly #limits: CallLimits;
  // Not `AbortSignal.any`: its `aborted` is read at each part, and is slower.
  readonly #stop = new AbortController();
  readonly #outer: Disposable;
  readonly #timer: Timer;
  readonly #whole: Disposable | undefined;
  #next: Disposable | undefined;
  #lateness: DOMException | undefined;

  constructor(limits: CallLimits, { signal, timer }: CallWatchOptions) {
    this.#limits = limits;
    this.#timer = timer;
    this.#outer = onAbort(signal, () => {
      this.#stop.abort(signal.reason);
    });
    this.#whole = this.#expire(limits.callMs, "the whole call");
    this.#next = this.#expire(limits.firstTokenMs, "the first token");
  }

  get signal(): AbortSignal {
    return this.#stop.signal;
  }

  get lateness(): DOMException | undefined {
    return this.#lateness;
  }

  token(): void {
    this.#next?.[Symbol.dispose]();
    this.#next = this.#expire(this.#limits.betweenTokensMs, "the next token");
  }

  [Symbol.dispose](): void {
    this.#outer[Symbol.dispose]();
    this.#whole?.[Symbol.dispose]();
    this.#next?.[Symbol.dispose]();
  }

  #expire(limitMs: number | undefined, limit: ModelLimit): Disposable | undefined {
    if (limitMs === undefined) return undefined;
    const due = (): void => {
      const message = `The model took longer than ${limitMs} ms for ${limit}.`;
      if (this.signal.aborted) return;
      this.#lateness = new DOMException(message, "TimeoutError");
      this.#stop.abort(this.#lateness);
    };
    return this.#timer(limitMs, due, { kind: "model", limit });
  }
}

// The conditions under which a turn ends before the model has concluded.

interface StopConditions {
  /** A method, so that conditions over the types of certain tools fit too. */
  isMet(options: { readonly steps: Array<StepResult<ToolSet>> }): boolean | PromiseLike<boolean>;
}

/** A `StopCondition` of the AI SDK, for instance `hasToolCall("finish")`, or your own function. */
type StopCondition = StopConditions["isMet"];

/** The setting: one condition, or a list. The turn ends when any of them is met. */
export type StopWhen = StopCondition | readonly StopCondition[];

export const stopWhenSchema: z.ZodType = thing(
  "a stop condition, as `isStepCount(10)` of the AI SDK, or a list of them",
  (value) => [value].flat().every((condition) => typeof condition === "function"),
);

/** The index of the first condition that is met. @throws TurnlogError `CALLBACK_FAILED` if one of them throws */
export async function metCondition(
  stopWhen: StopWhen,
  steps: Array<StepResult<ToolSet>>,
): Promise<number | undefined> {
  const conditions = [stopWhen].flat();
  const answers = await awaited("stopWhen", () =>
    Promise.all(conditions.map(async (condition) => await condition({ steps }))),
  );
  const first = answers.findIndex(Boolean);
  return first === -1 ? undefined : first;
}
