/** Collects the parts of `doStream` into the result of `doGenerate`. */
import type {
  LanguageModelV4Content,
  LanguageModelV4GenerateResult,
  LanguageModelV4Reasoning,
  LanguageModelV4StreamPart,
  LanguageModelV4Text,
  SharedV4ProviderMetadata,
} from "@ai-sdk/provider";
import { onAbort } from "../shared/index.ts";

/** Throws the error of an `error` part. */
export async function gatherParts(
  parts: ReadableStream<LanguageModelV4StreamPart>,
): Promise<LanguageModelV4GenerateResult> {
  const content: LanguageModelV4Content[] = [];
  /** Blocks of text and reasoning, in the order in which they were opened. */
  const blocks = new Map<string, Block>();
  const result: Partial<LanguageModelV4GenerateResult> = {};
  for await (const part of parts) {
    switch (part.type) {
      case "text-start":
      case "reasoning-start": {
        const block: Block = { type: part.type === "text-start" ? "text" : "reasoning", text: "" };
        blocks.set(`${block.type} ${part.id}`, block);
        content.push(block);
        extend(block, part);
        break;
      }
      case "text-delta":
      case "text-end":
      case "reasoning-delta":
      case "reasoning-end": {
        const [type] = part.type.split("-");
        const block = blocks.get(`${type} ${part.id}`);
        if (block === undefined)
          throw new Error(`The model sent ${type} for "${part.id}" before its start.`);
        extend(block, part);
        break;
      }
      case "stream-start":
        result.warnings = part.warnings;
        break;
      case "response-metadata": {
        const { type: _type, ...response } = part;
        result.response = response;
        break;
      }
      case "finish":
        result.finishReason = part.finishReason;
        result.usage = part.usage;
        if (part.providerMetadata) result.providerMetadata = part.providerMetadata;
        break;
      case "error":
        throw part.error;
      case "tool-input-start":
      case "tool-input-delta":
      case "tool-input-end":
      case "ping":
      case "raw":
        break;
      default:
        content.push(part);
    }
  }
  const { finishReason, usage, warnings = [], ...rest } = result;
  if (finishReason === undefined || usage === undefined) {
    throw new Error("The model's parts ended without a finish part.");
  }
  return { ...rest, content, finishReason, usage, warnings };
}

type Block = LanguageModelV4Text | LanguageModelV4Reasoning;

function extend(
  block: Block,
  part: { readonly delta?: string; readonly providerMetadata?: SharedV4ProviderMetadata },
): void {
  block.text += part.delta ?? "";
  if (part.providerMetadata !== undefined) block.providerMetadata = part.providerMetadata;
}

// Makes the stream of `doStream`. A part is made only when it is read; an abort ends the wait for it immediately.

/** An aborted signal breaks the stream with its reason. */
export function streamParts(
  parts: AsyncIterable<LanguageModelV4StreamPart>,
  signal: AbortSignal | undefined,
): ReadableStream<LanguageModelV4StreamPart> {
  const iterator = parts[Symbol.asyncIterator]();
  // Not awaited: a part that never comes must not block the reader's cancellation.
  const leave = () => void iterator.return?.();
  return new ReadableStream<LanguageModelV4StreamPart>(
    {
      async pull(controller) {
        const next = await unlessAborted(() => iterator.next(), signal, leave);
        if (next.done === true) controller.close();
        else controller.enqueue(next.value);
      },
      cancel: leave,
    },
    { highWaterMark: 0 },
  );
}

async function unlessAborted<T>(
  start: () => Promise<T>,
  signal: AbortSignal | undefined,
  leave: () => void,
): Promise<T> {
  if (signal === undefined) return start();
  const { promise: aborted, reject } = Promise.withResolvers<never>();
  using _ = onAbort(signal, () => {
    leave();
    reject(signal.reason);
  });
  return await (signal.aborted ? aborted : Promise.race([start(), aborted]));
}
