/**
 * The step source on `streamText`: costs more CPU, and brings the SDK's telemetry and transforms. The
 * same engine, told that its stream is read once: the other face of it keeps all parts for a second reader.
 */

import type { LanguageModelV4Middleware, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import {
  experimental_streamTextLowMemory as streamText,
  isStepCount,
  NoOutputGeneratedError,
  wrapLanguageModel,
  type LanguageModel,
  type ToolSet,
} from "ai";
import { ownCopy } from "../../events/index.ts";
import { callRequest } from "./call-request.ts";
import { readableError } from "../../shared/index.ts";
import { measuredUsage, recordedEnd, responseMetadata, stepStart } from "./recorded-end.ts";
import { recordedPart } from "./recorded-part.ts";
import type { StepOutput, StepRequest, StepSource } from "../../agent/index.ts";

export const streamTextCall: StepSource = { name: "stream-text", call };

async function* call(request: StepRequest): AsyncGenerator<StepOutput, void, void> {
  const { signal } = request;
  let contentType: string | undefined;
  let told = false;
  try {
    for await (const output of streamed(request, (type) => (contentType = type))) {
      if (output.kind === "part" && output.part.type === "part.error") told = true;
      yield output;
    }
  } catch (error) {
    // Where the SDK throws instead of telling of it; what is recorded must not depend on the source.
    if (signal.aborted || told) throw error;
    yield recordedPart({ type: "error", error });
  }
  yield { kind: "head", contentType };
}

async function* streamed(
  request: StepRequest,
  hear: (contentType: string | undefined) => void,
): AsyncGenerator<StepOutput, void, void> {
  const { agent, signal } = request;
  const model = overheard(agent.model, hear);
  const { stream } = streamText({
    ...callRequest(request),
    model,
    // One step, one attempt, no tools run: the loop, the retries and the tools are the session's.
    stopWhen: isStepCount(1),
    maxRetries: 0,
    onError: () => {},
    ...(agent.tools === undefined ? {} : { tools: withoutExecution(agent.tools) }),
  });
  for await (const part of stream) {
    switch (part.type) {
      case "start-step":
        yield { kind: "part", part: stepStart(part.warnings) };
        break;
      case "error":
        // The SDK's words for a stream without an end: what that is, is said for both sources alike.
        if (!NoOutputGeneratedError.isInstance(part.error)) yield recordedPart(part);
        break;
      case "finish-step": {
        const usage = measuredUsage(part.usage);
        // What the SDK makes up for a stream that broke off: the provider never said that it had ended.
        const { finishReason, rawFinishReason } = part;
        if (finishReason === "other" && rawFinishReason === undefined && usage === undefined) break;
        yield recordedEnd({
          finishReason,
          rawFinishReason,
          usage,
          response: responseMetadata(part.response),
          providerMetadata: part.providerMetadata,
        });
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

/** The same model; `hear` is told the type of each answer, which the SDK keeps until a stream has ended well. */
function overheard(
  model: LanguageModel,
  hear: (contentType: string | undefined) => void,
): LanguageModel {
  // A model that goes by its name is looked up by the SDK itself.
  if (typeof model === "string") return model;
  const middleware: LanguageModelV4Middleware = {
    specificationVersion: "v4",
    // A provider or a middleware that changes its prompt changes this call's alone.
    transformParams: ({ params }) => Promise.resolve({ ...params, prompt: ownCopy(params.prompt) }),
    wrapStream: async ({ doStream }) => {
      try {
        const answer = await doStream();
        hear(answer.response?.headers?.["content-type"]);
        return { ...answer, stream: ReadableStream.from(withReadableErrors(answer.stream)) };
      } catch (error) {
        throw readableError(error);
      }
    },
  };
  return wrapLanguageModel({ model, middleware });
}

type ModelPart = LanguageModelV4StreamPart;

/** Of an error that throws when it is read, the SDK leaves a rejection that nobody handles: it ends the process. */
async function* withReadableErrors(
  stream: ReadableStream<ModelPart>,
): AsyncGenerator<ModelPart, void, void> {
  try {
    for await (const part of stream)
      yield part?.type === "error" ? { ...part, error: readableError(part.error) } : part;
  } catch (error) {
    throw readableError(error);
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
