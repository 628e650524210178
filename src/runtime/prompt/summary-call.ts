/** One call of the model that writes a summary. Its parts are not recorded, only its outcome. */

import type { SummaryReply, SummaryRequest } from "../../context/index.ts";
import type { FinishReason, StoredError, TokenUsage } from "../../events/index.ts";
import {
  type Agent,
  callLimits,
  callSettings,
  CallWatch,
  type StepOutput,
  type StepSource,
} from "../../agent/index.ts";
import { checkedUsage } from "../model/checked-usage.ts";
import { replyEnd } from "../model/reply-end.ts";
import { firstAbort, type Timer, toStoredError, wellFormed } from "../../shared/index.ts";

export interface SummaryCall {
  readonly source: StepSource;
  readonly agent: Agent;
  readonly model: Agent["model"];
  readonly request: SummaryRequest;
  readonly signal: AbortSignal;
  readonly timer: Timer;
  readonly believesBill: () => boolean;
}

export interface SummaryAnswer {
  readonly reply: SummaryReply;
  /** The billed usage, or our estimate. */
  readonly usage: TokenUsage;
  /** The provider's error, or `TimeoutError`. */
  readonly error: StoredError | undefined;
}

/** Characters per token, at most. A longer reply is cut off. */
const MOST_PER_TOKEN = 8;

export async function callSummariser(call: SummaryCall): Promise<SummaryAnswer> {
  const { request, agent, source } = call;
  using watch = new CallWatch(callLimits(agent), call);
  const { signal } = watch;
  let text = "";
  let calledTools = false;
  let isTooLong = false;
  let error: StoredError | undefined;
  let end: Extract<StepOutput, { readonly kind: "end" }> | undefined;
  const stop = new AbortController();
  using stops = firstAbort(signal, stop.signal);
  const outputs = source.call({
    agent: summaryAgent(call),
    messages: [{ role: "user", content: wellFormed(request.prompt) }],
    signal: stops.signal,
  });
  try {
    for await (const output of outputs) {
      if (signal.aborted) break;
      if (output.kind === "end") {
        end = output;
        continue;
      }
      if (output.kind === "head") continue;
      const { part } = output;
      if (part.type === "part.error") ({ error } = part.data);
      else if (part.type !== "part.start-step") watch.token();
      if (part.type === "part.text-delta") text += part.data.text;
      if (part.type === "part.tool-call") calledTools = true;
      isTooLong = text.length > MOST_PER_TOKEN * request.maxTokens;
      if (isTooLong) break;
    }
  } catch (thrown) {
    error = toStoredError(thrown);
  } finally {
    // Stops a stream that was left early.
    stop.abort();
  }
  const { lateness } = watch;
  if (end === undefined && lateness !== undefined) error = toStoredError(lateness);
  if (error === undefined && !isTooLong && !signal.aborted) {
    const whole = replyEnd(end);
    if (whole instanceof Error) error = toStoredError(whole);
    else end = whole;
  }
  const estimate = estimated(request, text);
  const sent = {
    agent: summaryAgent(call),
    instructions: request.instructions,
    tools: "",
    messages: [{ role: "user" as const, content: request.prompt }],
  };
  const finishReason: FinishReason = end?.finishReason ?? "length";
  return {
    reply: { text, finishReason, calledTools },
    usage:
      end?.usage === undefined || call.believesBill()
        ? (end?.usage ?? estimate)
        : checkedUsage(end.usage, () => estimate, sent),
    error,
  };
}

function summaryAgent({ agent, model, request }: SummaryCall): Agent {
  const { headers, providerOptions } = agent;
  return {
    model,
    instructions: request.instructions,
    ...callSettings(agent),
    maxOutputTokens: request.maxTokens,
    ...(headers === undefined ? {} : { headers }),
    ...(providerOptions === undefined ? {} : { providerOptions }),
  };
}

function estimated(request: SummaryRequest, text: string): TokenUsage {
  return {
    basis: "estimated",
    inputTokens: request.tokens,
    outputTokens: Math.ceil(text.length / 4),
  };
}
