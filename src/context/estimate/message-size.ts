/** Measures the size of messages in a prompt, once for each message object. Pure. */

import type { ModelMessage, ToolResultPart } from "ai";
import {
  uploadedFile,
  measuresIn,
  uploadNames,
  type BlobMeasures,
  type UploadedFile,
  type ModelName,
} from "../../events/index.ts";
import { itemMessages, type HistoryItem } from "../../projections/index.ts";
import { asBase64, uploadNote, uploadRefusal } from "../models/model-media.ts";
import { mediaTokens, uploadedTokens } from "./media-tokens.ts";
import { modelFamily } from "../models/model-family.ts";
import { countsFor, type TokenEstimator } from "./token-estimator.ts";

export interface MessageSize {
  /** Tokens of text, before the model's factor. */
  readonly text: number;
  readonly media: number;
  /** Tokens of roles, separators and ids. */
  readonly around: number;
  /** Bytes of the content as UTF-8, files as base64. */
  readonly bytes: number;
}

export const noSize: MessageSize = { text: 0, media: 0, around: 0, bytes: 0 };

export function addSize(left: MessageSize, right: MessageSize): MessageSize {
  return {
    text: left.text + right.text,
    media: left.media + right.media,
    around: left.around + right.around,
    bytes: left.bytes + right.bytes,
  };
}

type Part = Exclude<ModelMessage["content"], string>[number];

export interface Meter {
  readonly model: ModelName;
  readonly estimator: TokenEstimator;
  message(message: ModelMessage): MessageSize;
  text(text: string): MessageSize;
  /** The size of one tool result, with the tokens around it. */
  result(result: ToolResultPart): MessageSize;
}

/** The sizes of the results of a step by call id. The estimate has measured them already. */
export function resultSizes(item: HistoryItem, meter: Meter): ReadonlyMap<string, MessageSize> {
  const sizes = new Map<string, MessageSize>();
  for (const message of itemMessages(item))
    if (message.role === "tool")
      for (const part of message.content)
        if (part.type === "tool-result") sizes.set(part.toolCallId, meter.result(part));
  return sizes;
}

const meters = new WeakMap<TokenEstimator, Map<string, Meter>>();

export function meter(estimator: TokenEstimator, model: ModelName): Meter {
  const known = meters.get(estimator) ?? new Map<string, Meter>();
  meters.set(estimator, known);
  const key = `${model.provider}:${model.modelId}`;
  const made = known.get(key) ?? makeMeter(estimator, model);
  known.set(key, made);
  return made;
}

function makeMeter(estimator: TokenEstimator, model: ModelName): Meter {
  const sizes = new WeakMap<ModelMessage, MessageSize>();
  const results = new WeakMap<ToolResultPart, MessageSize>();
  const { perMessage, perResult, readsCallIds } = modelFamily(model);
  const count = countsFor(estimator, model);

  const text = (value: string): MessageSize => ({
    ...noSize,
    text: count(value),
    bytes: Buffer.byteLength(value),
  });
  const file = (data: unknown, mediaType: string, blob?: BlobMeasures): MessageSize => {
    const content = fileContent(data);
    const media = content.text ? undefined : mediaTokens(content.value, mediaType, model, blob);
    if (media === undefined) return text(fileText(content));
    const bytes = blob === undefined ? content.value.length : asBase64(blob.bytes);
    return { ...noSize, media, bytes };
  };
  const uploaded = (file: UploadedFile): MessageSize => {
    const why = uploadRefusal(file, model);
    if (why !== undefined) return text(uploadNote(file, why));
    const bytes = Buffer.byteLength(uploadNames(file.reference));
    return { ...noSize, media: uploadedTokens(file.mediaType, model), bytes };
  };
  const around = (id: string, isOne: boolean): MessageSize => ({
    ...noSize,
    around: perResult + (readsCallIds && !isOne ? count(id) : 0),
  });
  const result = (part: ToolResultPart, isOne = false): MessageSize => {
    const known = results.get(part) ?? outputSize(part.output);
    results.set(part, known);
    return addSize(around(part.toolCallId, isOne), known);
  };
  const outputSize = (output: ToolResultPart["output"]): MessageSize => {
    switch (output.type) {
      case "text":
      case "error-text":
        return text(output.value);
      case "json":
      case "error-json":
        return text(JSON.stringify(output.value));
      case "execution-denied":
        return text(output.reason ?? "");
      case "content":
        return output.value.map(contentSize).reduce(addSize, noSize);
    }
  };
  const contentSize = (
    part: Extract<ToolResultPart["output"], { type: "content" }>["value"][number],
  ): MessageSize => {
    // Deprecated parts of the SDK still occur.
    // oxlint-disable-next-line typescript/no-deprecated
    if (part.type === "text") return text(part.text);
    // oxlint-disable-next-line typescript/no-deprecated
    if (part.type === "custom") return text(JSON.stringify(part));
    const uploadedPart = uploadedFile(part);
    if (uploadedPart !== undefined) return uploaded(uploadedPart);
    // Older forms of a file have other types and the same fields.
    if ("data" in part && "mediaType" in part)
      return file(part.data, part.mediaType, measuresIn(part));
    return text(JSON.stringify(part));
  };
  const size = (part: Part, isOne: boolean): MessageSize => {
    switch (part.type) {
      case "text":
      case "reasoning":
        return text(part.text);
      case "file":
      case "reasoning-file": {
        const uploadedPart = uploadedFile(part);
        if (uploadedPart !== undefined) return uploaded(uploadedPart);
        return file(part.data, part.mediaType, measuresIn(part));
      }
      case "image":
        return file(part.image, part.mediaType ?? "image/png");
      case "tool-call":
        return addSize(
          around(part.toolCallId, isOne),
          text(part.toolName + JSON.stringify(part.input ?? {})),
        );
      case "tool-result":
        return result(part, isOne);
      default:
        return noSize;
    }
  };
  return {
    model,
    estimator,
    text,
    result: (part) => result(part),
    message: (message) => {
      const known = sizes.get(message);
      if (known !== undefined) return known;
      const { content } = message;
      const isOne = typeof content !== "string" && content.filter(isOfCall).length === 1;
      const inside =
        typeof content === "string"
          ? text(content)
          : content.map((part) => size(part, isOne)).reduce(addSize, noSize);
      const whole = addSize(inside, { ...noSize, around: perMessage });
      sizes.set(message, whole);
      return whole;
    },
  };
}

function isOfCall({ type }: Part): boolean {
  return type === "tool-call" || type === "tool-result";
}

interface FileContent {
  readonly value: string;
  readonly text: boolean;
}

function fileContent(data: unknown): FileContent {
  if (typeof data === "string") return { value: data, text: false };
  if (data instanceof URL) return { value: data.href, text: false };
  if (data instanceof Uint8Array) {
    return { value: Buffer.from(data).toString("base64"), text: false };
  }
  if (typeof data !== "object" || data === null) return { value: "", text: false };
  if ("text" in data && typeof data.text === "string") return { value: data.text, text: true };
  if ("data" in data) return fileContent(data.data);
  return "url" in data ? fileContent(data.url) : { value: "", text: false };
}

function fileText({ value, text }: FileContent): string {
  if (text || /^https?:/i.test(value)) return value;
  const base64 = value.startsWith("data:") ? value.slice(value.indexOf(",") + 1) : value;
  return Buffer.from(base64, "base64").toString("utf8");
}
