/** The offline model's reply: a move as reasoning, text and tool calls, within the tokens allowed. */
import { countTokens } from "./delta.ts";
import type { Move } from "./offline-plan.ts";

/** What one call of the model says. `input` is JSON. */
export interface Reply {
  readonly reasoning: string;
  readonly text: string;
  readonly calls: readonly { readonly toolName: string; readonly input: string }[];
  readonly finish: "stop" | "tool-calls" | "length";
}

export function replyOf(move: Move, thinks: boolean): Reply {
  if (move.kind === "ask") {
    const calls = move.asks.map(({ toolName, input }) => ({
      toolName,
      input: JSON.stringify(input),
    }));
    return { reasoning: thinks ? move.thought : "", text: "", calls, finish: "tool-calls" };
  }
  const reasoning = thinks ? "I have what I need to answer." : "";
  return { reasoning, text: move.text, calls: [], finish: "stop" };
}

/** Cuts a reply to `maxTokens`: reasoning first, then text; calls are made all or none. */
export function limitReply(reply: Reply, maxTokens: number = Number.POSITIVE_INFINITY): Reply {
  const reasoning = reply.reasoning.slice(0, maxTokens * 4);
  const forText = maxTokens - countTokens(reasoning);
  const text = reply.text.slice(0, forText * 4);
  const forCalls = forText - countTokens(text);
  const needed = reply.calls.reduce((sum, call) => sum + countTokens(call.input), 0);
  if (reasoning === reply.reasoning && text === reply.text && needed <= forCalls) return reply;
  return { reasoning, text, calls: [], finish: "length" };
}
