/**
 * The step source on `streamText`: costs more CPU, and brings the SDK's telemetry and transforms. The
 * same engine, told that its stream is read once: the other face of it keeps all parts for a second reader.
 */

import { experimental_streamTextLowMemory as streamText, isStepCount, type ToolSet } from "ai";
import { callRequest } from "./call-request.ts";
import { toJson } from "./json-value.ts";
import { responseMetadata } from "./language-model-call.ts";
import { measuredUsage, metadata, recordedPart } from "./recorded-part.ts";
import type { StepOutput, StepRequest, StepSource } from "./step-source.ts";

export const streamTextCall: StepSource = { name: "stream-text", call };

async function* call(request: StepRequest): AsyncGenerator<StepOutput, void, void> {
  const { agent, signal } = request;
  const { stream } = streamText({
    ...callRequest(request),
    // One step, one attempt, no tools run: the loop, the retries and the tools are the session's.
    stopWhen: isStepCount(1),
    maxRetries: 0,
    onError: () => {},
    ...(agent.tools === undefined ? {} : { tools: withoutExecution(agent.tools) }),
  });
  for await (const part of stream) {
    switch (part.type) {
      case "start-step":
        yield {
          kind: "part",
          part: {
            type: "part.start-step",
            data: { warnings: part.warnings.map((warning) => toJson(warning)) },
          },
        };
        break;
      case "finish-step": {
        const usage = measuredUsage(part.usage);
        // What the SDK makes up for a stream that broke off: the provider never said that it had ended.
        const { finishReason, rawFinishReason } = part;
        if (finishReason === "other" && rawFinishReason === undefined && usage === undefined) break;
        yield {
          kind: "end",
          finishReason,
          rawFinishReason,
          usage,
          response: responseMetadata(part.response),
          providerMetadata:
            part.providerMetadata === undefined ? undefined : metadata(part.providerMetadata),
        };
        break;
      }
      case "abort":
        signal.throwIfAborted();
        break;
      case "start":
      case "finish":
      case "ping":
      case "steering-message":
      case "tool-output-denied":
      case "tool-approval-response":
        break;
      default:
        yield recordedPart(part);
    }
  }
}

/** The same tools, to be called but neither run nor approved by the SDK. */
function withoutExecution(tools: ToolSet): ToolSet {
  return Object.fromEntries(
    Object.entries(tools).map(([name, tool]) => {
      // Deprecated in favour of a setting of `streamText`; tools that use it still come.
      // oxlint-disable-next-line typescript/no-deprecated
      const { execute: _execute, needsApproval: _needsApproval, ...definition } = tool;
      return [name, definition];
    }),
  );
}
