/** The step source on `streamText`: it takes more CPU, and supports the SDK's telemetry and transforms. */

import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Middleware,
  LanguageModelV4StreamPart,
} from "@ai-sdk/provider";
import {
  experimental_streamTextLowMemory as streamText,
  isStepCount,
  NoOutputGeneratedError,
  wrapLanguageModel,
  type LanguageModel,
  type Telemetry,
  type ToolSet,
} from "ai";
import { withCaching } from "./cache-marks.ts";
import { callRequest, promptCopy, stepWarnings } from "./call-request.ts";
import { readableError, streamOf } from "../../shared/index.ts";
import {
  measuredUsage,
  recordedEnd,
  responseMetadata,
  stepStart,
  recordedPart,
} from "./recorded-parts.ts";
import { ReplyIds, withOwnIds } from "./reply-ids.ts";
import {
  type CallObserver,
  requestTools,
  nameOf,
  type StepOutput,
  type StepRequest,
  type StepSource,
} from "../../agent/index.ts";

export const streamTextCall: StepSource = { name: "stream-text", call };

async function* call(request: StepRequest): AsyncGenerator<StepOutput, void, void> {
  const { signal, observer } = request;
  let contentType: string | undefined;
  let reported = false;
  try {
    for await (const output of streamed(request, (type) => (contentType = type))) {
      if (output.kind === "part" && output.part.type === "part.error") reported = true;
      yield output;
    }
  } catch (error) {
    // The SDK threw the error instead of streaming it, and both sources must record the same.
    if (signal.aborted || reported) throw error;
    observer?.failed({ kind: "stream", error });
    yield recordedPart({ type: "error", error });
  }
  yield { kind: "head", contentType };
}

async function* streamed(
  request: StepRequest,
  onContentType: (contentType: string | undefined) => void,
): AsyncGenerator<StepOutput, void, void> {
  const { agent, signal, observer } = request;
  let hasAnswered = false;
  const responseFormat = await request.output?.responseFormat;
  const model = observed(request, onContentType, responseFormat);
  const tools = requestTools(agent);
  const { experimental_refineToolInput: refine } = agent;
  const { stream } = streamText({
    ...callRequest(request),
    model,
    // A model by its name is not wrapped.
    ...(typeof model === "string" && request.output !== undefined
      ? { output: request.output }
      : {}),
    // One step, one attempt, no tool execution: the session does these.
    stopWhen: isStepCount(1),
    maxRetries: 0,
    onError: () => {},
    // The session reports the whole turn: the SDK would report each step as a separate operation.
    telemetry: {
      isEnabled: observer !== undefined,
      integrations: observer ? bridge(observer) : [],
    },
    ...(observer && {
      onLanguageModelCallStart: observer.started,
      onLanguageModelCallEnd: (event) => observer.ended(withOwnIds(event, request.awaited)),
      _internal: { generateCallId: () => observer.callId },
    }),
    ...(tools === undefined ? {} : { tools: withoutExecution(tools) }),
    ...(refine === undefined ? {} : { experimental_refineToolInput: refine }),
  });
  // A model by its name is not wrapped, and other ids stay.
  const ids = new ReplyIds(request.awaited);
  for await (const part of stream) {
    switch (part.type) {
      case "start-step":
        hasAnswered = true;
        observer?.answered({ request: part.request });
        yield { kind: "part", part: stepStart(stepWarnings(request, part.warnings)) };
        break;
      case "error":
        observer?.failed({ kind: hasAnswered ? "chunk" : "call", error: part.error });
        // The SDK's error for a stream without an end. `model-step.ts` reports it for both sources.
        if (!NoOutputGeneratedError.isInstance(part.error)) yield recordedPart(part);
        break;
      case "finish-step": {
        const usage = measuredUsage(part.usage);
        observer?.answered({ headers: part.response.headers });
        // The SDK adds this end to a stream that broke off.
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
        yield recordedPart(ids.named(part));
    }
  }
}

/** Lets the SDK run the call in the contexts of the session's telemetry. */
function bridge(observer: CallObserver): Telemetry {
  return { executeLanguageModelCall: observer.execute };
}

/** The same model, which reports the content type of each response before its stream ends. */
function observed(
  { agent: { model }, awaited, caching }: StepRequest,
  onContentType: (contentType: string | undefined) => void,
  responseFormat: LanguageModelV4CallOptions["responseFormat"],
): LanguageModel {
  // The SDK looks up a model by its name.
  if (typeof model === "string") return model;
  const middleware: LanguageModelV4Middleware = {
    specificationVersion: "v4",
    // The SDK would merge deltas by its own `output`.
    transformParams: ({ params }) => {
      const own = {
        ...params,
        ...(responseFormat === undefined ? {} : { responseFormat }),
        prompt: promptCopy(params.prompt),
      };
      return Promise.resolve(withCaching(own, nameOf(model), caching));
    },
    wrapStream: async ({ doStream }) => {
      try {
        const answer = await doStream();
        onContentType(answer.response?.headers?.["content-type"]);
        return { ...answer, stream: streamOf(mended(answer.stream, awaited)) };
      } catch (error) {
        throw readableError(error);
      }
    },
  };
  return wrapLanguageModel({ model, middleware });
}

type ModelPart = LanguageModelV4StreamPart;

/**
 * With an id of its own for each call, so that the SDK tells the tool's callbacks that one. An error that throws
 * when it is read would end the process by an unhandled rejection in the SDK.
 */
async function* mended(
  stream: ReadableStream<ModelPart>,
  awaited: StepRequest["awaited"],
): AsyncGenerator<ModelPart, void, void> {
  const ids = new ReplyIds(awaited);
  try {
    for await (const part of stream)
      yield part?.type === "error"
        ? { ...part, error: readableError(part.error) }
        : ids.named(part);
  } catch (error) {
    throw readableError(error);
  }
}

/** The same tools, which the SDK neither runs nor approves. */
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
