/**
 * Guards the functions of an agent's context options. An error or an invalid result becomes
 * `CALLBACK_FAILED` with the name of the option. It fails a turn or a compaction, never the session.
 */

import { z } from "zod";
import type {
  CompactionPlan,
  CompactionStrategy,
  CompactionWhen,
  ModelCatalogue,
  SummaryRequest,
  SummaryWriter,
  TokenEstimator,
} from "../context/index.ts";
import { deepFreeze, TurnlogError, type FailureKind } from "../events/index.ts";
import type { ContextOptions } from "./context-options.ts";
import { atOnce, withFullStop, readableError, toStoredError } from "../shared/index.ts";

/** @throws TurnlogError `CALLBACK_FAILED` if the function throws, or returns a promise */
function called<Answer>(option: string, work: () => Answer): Answer {
  try {
    return atOnce(work());
  } catch (thrown) {
    const error = readableError(thrown);
    // The agent of a fork may be guarded already.
    if (isCallbackFailure(error)) throw error;
    const what = `threw: ${withFullStop(toStoredError(error).message)}`;
    throw callbackFailure(option, what, error);
  }
}

function callbackFailure(option: string, what: string, cause?: unknown): TurnlogError {
  return new TurnlogError(
    "CALLBACK_FAILED",
    `\`${option}\` ${what} Fix it and send again: nothing else is lost.`,
    { details: { option }, ...(cause === undefined ? {} : { cause }) },
  );
}

export function isCallbackFailure(error: unknown): error is TurnlogError {
  return TurnlogError.isInstance(error) && error.code === "CALLBACK_FAILED";
}

/** @throws TurnlogError `CALLBACK_FAILED` if the callback throws or rejects */
export async function awaited<Answer>(
  option: string,
  work: () => Answer | PromiseLike<Answer>,
): Promise<Answer> {
  try {
    return await work();
  } catch (error) {
    return called(option, () => {
      throw error;
    });
  }
}

function noCount(option: string, answer: unknown): TurnlogError {
  const what = typeof answer === "number" ? String(answer) : `a value of type ${typeof answer}`;
  return callbackFailure(option, `returned ${what}, which is not a number of tokens.`);
}

const isCount = (value: unknown): value is number =>
  typeof value === "number" && value >= 0 && Number.isFinite(value);

export function guardedContext(context: ContextOptions): ContextOptions {
  const { compact, estimator } = context;
  return {
    ...context,
    ...(estimator && { estimator: guardedEstimator(estimator) }),
    ...(compact && {
      compact: {
        when: guardedWhen(compact.when),
        how: guardedStrategy(compact.how, "context.compact.how"),
      },
    }),
  };
}

const estimators = new WeakMap<TokenEstimator, TokenEstimator>();

/** One guard per estimator, since measured figures are cached by estimator. */
function guardedEstimator(estimator: TokenEstimator): TokenEstimator {
  const known = estimators.get(estimator);
  if (known !== undefined) return known;
  const option = "context.estimator.text";
  const { name, exact } = estimator;
  const guarded: TokenEstimator = {
    name,
    exact,
    text: (text) => {
      const tokens = called(option, () => estimator.text(text));
      if (isCount(tokens)) return tokens;
      throw noCount(option, tokens);
    },
  };
  estimators.set(estimator, guarded);
  return guarded;
}

function guardedWhen(when: CompactionWhen): CompactionWhen {
  const option = "context.compact.when";
  const { name, atLimit } = when;
  return {
    name,
    ...(atLimit && { atLimit }),
    ...(when.limit && {
      limit: (estimate) => {
        const limit = called(`${option}.limit`, () => when.limit?.(estimate));
        if (limit === undefined || (typeof limit === "number" && limit >= 0)) return limit;
        throw noCount(`${option}.limit`, limit);
      },
    }),
    ...(when.due && {
      due: (facts) => {
        const due: unknown = called(`${option}.due`, () => when.due?.(deepFreeze(facts)));
        if (typeof due === "boolean") return due;
        throw callbackFailure(`${option}.due`, `returned ${typeof due}, not true or false.`);
      },
    }),
  };
}

/** @param option - The name of the option or argument, for the error. */
export function guardedStrategy(strategy: CompactionStrategy, option: string): CompactionStrategy {
  const { name, forgetsRequest, writer } = strategy;
  return {
    name,
    ...(forgetsRequest && { forgetsRequest }),
    plan: (history, view, budget) =>
      called(`${option}.plan`, () => {
        const plan = atOnce(strategy.plan(history, view, budget));
        return plan && planSchema.parse(plan);
      }),
    ...(writer && { writer: guardedWriter(writer, `${option}.writer`) }),
  };
}

const planSchema: z.ZodType<CompactionPlan> = z.object({
  covers: z.object({ from: z.int().positive(), to: z.int().positive() }),
  summary: z.string(),
});

function guardedWriter(writer: SummaryWriter, option: string): SummaryWriter {
  return {
    // A comparison changes it on the way.
    get model() {
      return writer.model;
    },
    get successor() {
      const { successor } = writer;
      if (successor === undefined) return undefined;
      return (kind: FailureKind) => called(`${option}.successor`, () => successor(kind));
    },
    request: (...given) => {
      return called(`${option}.request`, () => {
        const request = atOnce(writer.request(...given));
        return request && guardedRequest(request, `${option}.request`);
      });
    },
  };
}

function guardedRequest(request: SummaryRequest, option: string): SummaryRequest {
  const { covers, instructions, prompt, tokens, maxTokens } = request;
  const read: SummaryRequest["read"] = (reply) =>
    called(`${option}().read`, () => request.read(reply));
  return { covers, instructions, prompt, tokens, maxTokens, read };
}

export function guardedCatalogue(catalogue: ModelCatalogue): ModelCatalogue {
  return {
    limits: (...given) => called("context.catalogue.limits", () => catalogue.limits(...given)),
    cost: (...given) => called("context.catalogue.cost", () => catalogue.cost(...given)),
  };
}
