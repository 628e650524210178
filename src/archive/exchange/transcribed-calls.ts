/** How an imported call ended, as far as its messages tell. */

import type { ToolApprovalResponse, ToolCallPart, ToolResultPart } from "ai";
import { jsonSchema, type EventMap } from "../../events/index.ts";
import type { Transcript } from "./transcript.ts";

export interface CallAnswers {
  /** By call id. */
  readonly outputs: Map<string, ToolResultPart["output"]>;
  /** Approvals that were asked for, by call id, with the answer where there was one. */
  readonly approvals: Map<string, ToolApprovalResponse | undefined>;
}

export function recordCallEnd(
  transcript: Transcript,
  { toolCallId: callId, toolName }: ToolCallPart,
  { outputs, approvals }: CallAnswers,
): void {
  const { step } = transcript;
  const key = { step, callId };
  const output = outputs.get(callId);
  const approval = approvals.get(callId);
  const start = (): void => {
    const effectId = `imported/${step}/${callId}`;
    transcript.record({ type: "tool.started", data: { ...key, toolName, attempt: 1, effectId } });
  };
  if (output === undefined) {
    if (approval?.approved === false) {
      transcript.record({ type: "tool.denied", data: { ...key, ...reasonOf(approval) } });
    } else if (approvals.has(callId)) {
      transcript.record({ type: "tool.skipped", data: { ...key, reason: "interrupted" } });
    } else {
      // It may have run: the model is told to check before it repeats it.
      start();
      transcript.record({ type: "tool.unknown", data: { ...key, reason: "recovered" } });
    }
    return;
  }
  switch (output.type) {
    case "execution-denied":
      transcript.record({ type: "tool.denied", data: { ...key, ...reasonOf(output) } });
      return;
    case "error-text":
    case "error-json": {
      const message =
        typeof output.value === "string" ? output.value : JSON.stringify(output.value);
      start();
      transcript.record({
        type: "tool.failed",
        data: { ...key, error: { name: "Error", message } },
      });
      return;
    }
    case "text":
    case "json":
    case "content":
      start();
      transcript.record({ type: "tool.succeeded", data: { ...key, ...answerOf(output) } });
  }
}

type Answer = Pick<EventMap["tool.succeeded"], "output" | "modelOutput">;

/** What the model was given is kept where it is not simply the output, as text or as JSON. */
function answerOf(
  given: Extract<ToolResultPart["output"], { readonly type: "text" | "json" | "content" }>,
): Answer {
  const output = jsonSchema.parse(given.value);
  const plain = typeof output === "string" ? "text" : "json";
  const isPlain = given.type === plain && given.providerOptions === undefined;
  return isPlain ? { output } : { output, modelOutput: given };
}

function reasonOf({ reason }: { readonly reason?: string }): { readonly reason?: string } {
  return reason === undefined ? {} : { reason };
}
