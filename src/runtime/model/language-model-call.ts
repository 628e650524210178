/** The default step source: the AI SDK's primitive beneath `streamText`. Both record the same parts. */

import { defined, type ResponseMetadata, ownCopy } from "../../events/index.ts";
import {
  experimental_streamLanguageModelCall as streamLanguageModelCall,
  type ToolSet,
  wrapLanguageModel,
  type LanguageModel,
  type ModelMessage,
} from "ai";
import { unlessAborted, untilAborted, withMessages } from "../../shared/index.ts";
import { callRequest, promptCopy, stepWarnings } from "./call-request.ts";
import {
  measuredUsage,
  recordedEnd,
  responseMetadata,
  stepStart,
  recordedPart,
  type ContentPart,
} from "./recorded-parts.ts";
import { ReplyIds, withOwnIds } from "./reply-ids.ts";
import {
  requestTools,
  type StepOutput,
  type StepRequest,
  type StepSource,
  awaited,
  sentTools,
  toolContext,
  nameOf,
  type Caching,
} from "../../agent/index.ts";
import type {
  LanguageModelV4Message,
  LanguageModelV4Middleware,
  LanguageModelV4Prompt,
} from "@ai-sdk/provider";
import { withCaching } from "./cache-marks.ts";

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
      ...defined({ tools, refineToolInput, output: request.output }),
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

// Calls `onInputStart`, `onInputDelta` and `onInputAvailable` of the user's tools, as `streamText` does itself.

type AnyTool = ToolSet[string];

/** Calls the callbacks of the tool that a part concerns. Undefined if no tool has callbacks. */
function inputCallbacks({
  agent,
  messages,
  signal,
  context: given,
}: StepRequest): ((part: ContentPart) => Promise<void>) | undefined {
  const tools: ReadonlyMap<string | undefined, AnyTool> = new Map(
    Object.entries(sentTools(agent) ?? {}).filter(([, tool]) => hasCallbacks(tool)),
  );
  if (tools.size === 0) return undefined;
  const names = new Map<string, string>();
  const contexts = new Map<string, unknown>();
  const options = async (toolCallId: string, toolName: string, tool: AnyTool) => {
    if (!contexts.has(toolName))
      contexts.set(toolName, await toolContext(tool, toolName, given ?? {}));
    // The SDK types the context by the tool, which is unknown here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    const context = contexts.get(toolName) as never;
    return withMessages({ toolCallId, abortSignal: signal, context }, messages);
  };
  return async (part) => {
    switch (part.type) {
      case "tool-input-start": {
        const { id, toolName } = part;
        names.set(id, toolName);
        const tool = tools.get(toolName);
        if (tool?.onInputStart === undefined) return;
        return await awaited(`tools.${toolName}.onInputStart`, async () =>
          tool.onInputStart?.(await options(id, toolName, tool)),
        );
      }
      case "tool-input-delta": {
        const { id, delta: inputTextDelta } = part;
        const toolName = names.get(id);
        const tool = tools.get(toolName);
        if (toolName === undefined || tool?.onInputDelta === undefined) return;
        return await awaited(`tools.${toolName}.onInputDelta`, async () =>
          tool.onInputDelta?.(Object.assign(await options(id, toolName, tool), { inputTextDelta })),
        );
      }
      case "tool-call": {
        const { toolCallId, toolName } = part;
        const input: unknown = part.input;
        const tool = tools.get(toolName);
        if (part.invalid === true || tool?.onInputAvailable === undefined) return;
        return await awaited(`tools.${toolName}.onInputAvailable`, async () =>
          tool.onInputAvailable?.(
            Object.assign(await options(toolCallId, toolName, tool), { input }),
          ),
        );
      }
      default:
    }
  };
}

function hasCallbacks({ onInputStart, onInputDelta, onInputAvailable }: AnyTool): boolean {
  return [onInputStart, onInputDelta, onInputAvailable].some((callback) => callback !== undefined);
}

// Lets the AI SDK convert each message of a prompt once, not in each step: a call passes only the new
// messages to the SDK, and a middleware puts the converted earlier ones in front. The model gets the same
// prompt.

/** The converted messages of a model: a cache that lives as long as both. */
type Conversions = WeakMap<ModelMessage, LanguageModelV4Message>;

const conversionsFor = new WeakMap<object, Conversions>();

interface ShorterCall {
  readonly model: LanguageModel;
  /** The messages that the SDK has to convert. Empty only if the prompt is. */
  readonly messages: ModelMessage[];
}

/** The same prompt for the same model, with fewer messages to convert. */
export function shorterCall(
  model: LanguageModel,
  prompt: readonly ModelMessage[],
  caching?: Caching,
): ShorterCall {
  // The SDK looks up a model by its name.
  if (typeof model === "string") return { model, messages: ownCopy([...prompt]) };
  const conversions = conversionsFor.get(model) ?? new WeakMap();
  conversionsFor.set(model, conversions);
  const known = knownBefore(prompt, conversions);
  const fresh = prompt.slice(known.length);
  const middleware: LanguageModelV4Middleware = {
    specificationVersion: "v4",
    transformParams: ({ params }) => {
      const start = params.prompt.findIndex(({ role }) => role !== "system");
      const converted = params.prompt.slice(start);
      remember(conversions, fresh, converted);
      const instructions = params.prompt.slice(0, start);
      const whole = { ...params, prompt: promptCopy([...instructions, ...known, ...converted]) };
      return Promise.resolve(withCaching(whole, nameOf(model), caching));
    },
  };
  return { model: wrapLanguageModel({ model, middleware }), messages: fresh };
}

/** The known conversions at the beginning, up to a message that the SDK can convert separately. */
function knownBefore(prompt: readonly ModelMessage[], conversions: Conversions) {
  const known: LanguageModelV4Prompt = [];
  for (const message of prompt) {
    const conversion = conversions.get(message);
    if (conversion === undefined) break;
    known.push(conversion);
  }
  // The SDK joins consecutive tool messages, and requires at least one message.
  while (known.length > 0 && !beginsAnew(prompt[known.length])) known.pop();
  return known;
}

function beginsAnew(message: ModelMessage | undefined): boolean {
  return message !== undefined && message.role !== "tool";
}

/** If the SDK joined or dropped messages, the lengths differ and nothing can be matched. */
function remember(
  conversions: Conversions,
  fresh: readonly ModelMessage[],
  converted: LanguageModelV4Prompt,
): void {
  if (fresh.length !== converted.length) return;
  for (const [index, message] of fresh.entries()) {
    const conversion = converted[index];
    if (conversion !== undefined) conversions.set(message, conversion);
  }
}
