/** The default step source: the AI SDK's primitive beneath `streamText`. Both record the same parts. */

import { experimental_streamLanguageModelCall as streamLanguageModelCall } from "ai";
import type { ResponseMetadata } from "../../events/index.ts";
import { unlessAborted, untilAborted } from "../../shared/index.ts";
import { callRequest } from "./call-request.ts";
import { stepWarnings } from "./reasoning-loop.ts";
import { inputCallbacks } from "./input-callbacks.ts";
import { shorterCall } from "./known-prompt.ts";
import { measuredUsage, recordedEnd, responseMetadata, stepStart } from "./recorded-end.ts";
import { recordedPart } from "./recorded-part.ts";
import { ReplyIds, withOwnIds } from "./reply-ids.ts";
import {
  requestTools,
  type StepOutput,
  type StepRequest,
  type StepSource,
} from "../../agent/index.ts";

export const languageModelCall: StepSource = { name: "language-model-call", call };

// One generator instead of several: every part passes through it.
async function* call(request: StepRequest): AsyncGenerator<StepOutput, void, void> {
  const { observer } = request;
  let hasAnswered = false;
  try {
    const { agent, signal } = request;
    const tools = requestTools(agent);
    const { experimental_refineToolInput: refineToolInput } = agent;
    const notifyTools = inputCallbacks(request);
    const { repairToolCall, ...whole } = callRequest(request);
    const calling = streamLanguageModelCall({
      ...whole,
      ...shorterCall(agent.model, request.messages, request.caching),
      ...(tools === undefined ? {} : { tools }),
      ...(refineToolInput === undefined ? {} : { refineToolInput }),
      ...(request.output === undefined ? {} : { output: request.output }),
      ...(repairToolCall === undefined
        ? {}
        : {
            // The repair function gets the whole prompt, not the shorter call's.
            repairToolCall: (broken) => repairToolCall({ ...broken, messages: whole.messages }),
          }),
      ...(observer && {
        callId: observer.callId,
        onLanguageModelCallStart: observer.started,
        onLanguageModelCallEnd: (event) => observer.ended(withOwnIds(event, request.awaited)),
        executeLanguageModelCallInTelemetryContext: observer.execute,
      }),
    });
    const {
      stream,
      request: sent,
      response: answer,
    } = await unlessAborted(calling, signal, (late) => {
      untilAborted(late.stream, signal)[Symbol.dispose]();
    });
    hasAnswered = true;
    observer?.answered({ request: sent, headers: answer?.headers });
    using parts = untilAborted(stream, signal);
    yield { kind: "head", contentType: answer?.headers?.["content-type"] };
    const ids = new ReplyIds(request.awaited);
    let response: ResponseMetadata = {};
    for await (const part of parts) {
      switch (part.type) {
        case "model-call-start":
          yield { kind: "part", part: stepStart(stepWarnings(request, part.warnings)) };
          break;
        case "model-call-response-metadata":
          response = { ...response, ...responseMetadata(part) };
          break;
        case "model-call-end":
          yield recordedEnd({
            finishReason: part.finishReason,
            rawFinishReason: part.rawFinishReason,
            usage: measuredUsage(part.usage),
            response,
            providerMetadata: part.providerMetadata,
          });
          break;
        case "ping":
        case "tool-approval-response":
          break;
        case "text-delta":
          // As `streamText` does: an empty delta is kept only for its metadata, such as a signature.
          if (part.text !== "" || part.providerMetadata !== undefined) yield recordedPart(part);
          break;
        case "error":
          observer?.failed({ kind: "chunk", error: part.error });
          yield recordedPart(part);
          break;
        default: {
          const named = ids.named(part);
          yield recordedPart(named);
          if (notifyTools !== undefined) await unlessAborted(notifyTools(named), signal);
        }
      }
    }
  } catch (error) {
    // `streamText` reports it as a part, and both sources must record the same.
    if (request.signal.aborted) throw error;
    observer?.failed({ kind: hasAnswered ? "stream" : "call", error });
    yield recordedPart({ type: "error", error });
  }
}
