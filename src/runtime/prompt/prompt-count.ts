/** Counts the next prompt, if a count may avoid a compaction. Never throws: a failed count is an event too. */

import type { ContextEstimate } from "../../context/index.ts";
import type { EventBody } from "../../events/index.ts";
import { promptMessages } from "../../projections/index.ts";
import { unlessAborted, onAbort, toStoredError, type Timer } from "../../shared/index.ts";
import { nextEstimate, type PromptSetup } from "./context-figures.ts";
import {
  callSettings,
  compactionChoice,
  DEFAULT_COUNT_MS,
  requestTools,
  type CountRequest,
  type TokenCounter,
} from "../../agent/index.ts";
import { isPossible } from "../model/checked-usage.ts";
import { loadedFor } from "../model/tool-search.ts";
import type { SessionRecorder, SessionState } from "../../state/index.ts";

/** A guess is at most twice the truth. The factor of a model has the same bound. */
const LARGEST_ERROR = 2;

export interface CountRun {
  readonly state: SessionState;
  readonly recorder: Pick<SessionRecorder, "believesBill">;
  readonly setup: PromptSetup;
  readonly now: number;
  readonly timer: Timer;
  readonly signal: AbortSignal;
}

export type CountEvent = EventBody<"context.counted"> | EventBody<"context.count-failed">;

/** The event of a count; undefined if no request is worth it. */
export async function countPrompt(run: CountRun): Promise<CountEvent | undefined> {
  const { state, recorder, setup, now } = run;
  const { agent, description } = setup.prepared;
  const { counter } = agent.context ?? {};
  const estimate = nextEstimate(state, setup, now);
  if (counter === undefined || !mayFit(state, setup, estimate)) return undefined;
  const { instructions, toolChoice, headers, providerOptions } = agent;
  const tools = requestTools(loadedFor(agent, state.history));
  const messages = promptMessages(state.history, state.view);
  const request = {
    counter: counter.name,
    model: description.model,
    estimatedTokens: estimate.tokens,
  };
  try {
    const tokens = await answer(counter, run, {
      messages,
      ...(instructions === undefined ? {} : { instructions }),
      ...(tools === undefined ? {} : { tools }),
      ...callSettings(agent),
      ...(toolChoice === undefined ? {} : { toolChoice }),
      ...(headers === undefined ? {} : { headers }),
      ...(providerOptions === undefined ? {} : { providerOptions }),
    });
    if (
      !recorder.believesBill() &&
      !isPossible(tokens, { ...setup.prepared, messages, usage: state.usage })
    ) {
      throw new RangeError(
        `The counter ${counter.name} answered ${tokens} tokens, more than the prompt has bytes.`,
      );
    }
    return { type: "context.counted", data: { ...request, tokens } };
  } catch (error) {
    return { type: "context.count-failed", data: { ...request, error: toStoredError(error) } };
  }
}

/** Whether the prompt may be below its limit, given the largest error of the guess. Counts once a step. */
function mayFit(
  { counts }: SessionState,
  { prepared: { agent } }: PromptSetup,
  estimate: ContextEstimate,
): boolean {
  const limit = compactionChoice(agent.context)?.when.limit(estimate);
  if (limit === undefined || counts.asked) return false;
  const { tokens, since } = estimate;
  const guessed = since === undefined ? tokens : Math.abs(since.added) + Math.abs(since.removed);
  return guessed > 0 && tokens - guessed * (1 - 1 / LARGEST_ERROR) <= limit;
}

/** @throws the counter's error, `TimeoutError`, `RangeError` for an invalid number, or the signal's reason */
async function answer(
  counter: TokenCounter,
  { timer, signal }: CountRun,
  request: Omit<CountRequest, "signal">,
): Promise<number> {
  const { name, timeoutMs = DEFAULT_COUNT_MS } = counter;
  const stop = new AbortController();
  using _ = onAbort(signal, () => {
    stop.abort(signal.reason);
  });
  const late = (): void => {
    const message = `The counter ${name} took longer than ${timeoutMs} ms.`;
    stop.abort(new DOMException(message, "TimeoutError"));
  };
  const limit = timer(timeoutMs, late, { kind: "count" });
  // A synchronous throw is handled as a rejection.
  const counting = (async () => await counter.count({ ...request, signal: stop.signal }))();
  const tokens = await unlessAborted(counting, stop.signal, () => {}).finally(() => {
    limit[Symbol.dispose]();
  });
  if (Number.isSafeInteger(tokens) && tokens > 0) return tokens;
  throw new RangeError(
    `The counter ${name} answered ${String(tokens)}, which is no number of tokens.`,
  );
}
