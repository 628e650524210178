/**
 * Whether a prompt can contain an event's content, by the AI SDK's rules. The schemas accept more, for old
 * logs: a new event that breaks the rules is refused, `verify` reports an old one, and the folds show a
 * sentence in its place. Pure.
 */

import { z } from "zod";
import { blobMeasuresSchema } from "../values/blob-measures.ts";
import { providerReferenceSchema } from "../values/file-reference.ts";
import {
  isNestedDeeper,
  jsonObjectSchema,
  MOST_LEVELS,
  type JsonValue,
  type ProviderMetadata,
} from "../values/json.ts";
import type { AppEventType } from "../catalogue/app-events.ts";
import type { ModelOutput } from "../catalogue/tool-events.ts";
import { isAppEvent, type EventBody } from "../catalogue/catalogue.ts";
import type { StoredUserContent } from "../catalogue/message-events.ts";

const options = { providerOptions: z.record(z.string(), jsonObjectSchema).optional() };
const text = z.string();
const json = z.custom<JsonValue>(
  (value) => value !== undefined && !isNestedDeeper(value, MOST_LEVELS),
  `Invalid input: expected JSON of at most ${MOST_LEVELS} levels`,
);
const url = z.string().refine((value) => URL.canParse(value), "Invalid input: expected an address");
const reference = providerReferenceSchema;
const file = { mediaType: text, filename: text.optional(), blob: blobMeasuresSchema.optional() };

/** Built at the first output, so that the package is imported sooner. */
const output = z.lazy(() => {
  const fileData = z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("data"), data: text }),
    z.looseObject({ type: z.literal("url"), url }),
    z.looseObject({ type: z.literal("reference"), reference }),
    z.looseObject({ type: z.literal("text"), text }),
  ]);
  const fileId = z.union([text.min(1), reference]);

  const part = z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("text"), text, ...options }),
    z.looseObject({ type: z.literal("file"), data: fileData, ...file, ...options }),
    z.looseObject({ type: z.literal("file-data"), data: text, ...file, ...options }),
    z.looseObject({ type: z.literal("file-url"), url, mediaType: text.optional(), ...options }),
    z.looseObject({ type: z.literal("file-id"), fileId, ...options }),
    z.looseObject({ type: z.literal("file-reference"), providerReference: reference, ...options }),
    z.looseObject({ type: z.literal("image-data"), data: text, ...file, ...options }),
    z.looseObject({ type: z.literal("image-url"), url, ...options }),
    z.looseObject({ type: z.literal("image-file-id"), fileId, ...options }),
    z.looseObject({
      type: z.literal("image-file-reference"),
      providerReference: reference,
      ...options,
    }),
    z.looseObject({ type: z.literal("custom"), ...options }),
  ]);

  return z.discriminatedUnion("type", [
    z.looseObject({ type: z.literal("text"), value: text, ...options }),
    z.looseObject({ type: z.literal("json"), value: json, ...options }),
    z.looseObject({ type: z.literal("execution-denied"), reason: text.optional(), ...options }),
    z.looseObject({ type: z.literal("error-text"), value: text, ...options }),
    z.looseObject({ type: z.literal("error-json"), value: json, ...options }),
    z.looseObject({ type: z.literal("content"), value: z.array(part) }),
  ]);
});

const known = new WeakMap<object, string | undefined>();

export function outputFault(given: unknown): string | undefined {
  const isKept = typeof given === "object" && given !== null;
  if (isKept && known.has(given)) return known.get(given);
  const fault = faultOf(given);
  if (isKept) known.set(given, fault);
  return fault;
}

function faultOf(given: unknown): string | undefined {
  const [issue] = output.safeParse(given).error?.issues ?? [];
  if (issue === undefined) return undefined;
  const field = z.core.toDotPath(issue.path);
  return `${field === "" ? "" : `\`${field}\`: `}${issue.message}`;
}

/** The output itself, or a sentence in its place if no prompt can contain it. */
export function sendableOutput(given: ModelOutput): ModelOutput {
  const fault = outputFault(given);
  if (fault === undefined) return given;
  const known = replaced.get(given);
  if (known !== undefined) return known;
  const value = `The tool's answer cannot be shown: what it gives the model is not valid. ${fault}`;
  const made: ModelOutput = { type: "error-text", value };
  replaced.set(given, made);
  return made;
}

/** Each output is measured and hashed once. */
const replaced = new WeakMap<ModelOutput, ModelOutput>();

/** Levels that an event's own fields add around a value. */
const OWN_LEVELS = 10;

export function contentFault(event: EventBody): string | undefined {
  const { data } = event;
  if (isNestedDeeper(data, MOST_LEVELS + OWN_LEVELS))
    return `its data is nested more than ${MOST_LEVELS} levels deep`;
  // No prompt has one.
  if (isAppEvent(event)) return undefined;
  return promptFault(event);
}

function promptFault({
  type,
  data,
}: Exclude<EventBody, EventBody<AppEventType>>): string | undefined {
  switch (type) {
    case "tool.succeeded":
    case "tool.failed": {
      const fault = data.modelOutput === undefined ? undefined : outputFault(data.modelOutput);
      return fault && `what the tool gives the model is not valid: ${fault}`;
    }
    case "message.queued":
      return sendableContent(data.content) === data.content ? undefined : NO_OPTIONS;
    case "part.source":
      // No prompt has a source.
      return undefined;
    default: {
      if (!("providerMetadata" in data) || data.providerMetadata === undefined) return undefined;
      const { providerMetadata } = data;
      return sendableMetadata(providerMetadata) === providerMetadata ? undefined : NO_METADATA;
    }
  }
}

const NO_OPTIONS = "its `providerOptions` are not all objects, by the provider's name";
const NO_METADATA = "its `providerMetadata` are not all objects, by the provider's name";

/** Metadata without entries that are not objects: the SDK refuses every prompt that has one. */
export function sendableMetadata(metadata: ProviderMetadata): ProviderMetadata {
  const entries = Object.entries(metadata);
  const sent = entries.filter(([, own]) => jsonObjectSchema.safeParse(own).success);
  return sent.length === entries.length ? metadata : Object.fromEntries(sent);
}

export function sendableContent(content: StoredUserContent): StoredUserContent {
  if (typeof content === "string") return content;
  const sent = content.map((part) => {
    if (part.providerOptions === undefined) return part;
    const providerOptions = sendableMetadata(part.providerOptions);
    return providerOptions === part.providerOptions ? part : { ...part, providerOptions };
  });
  return sent.every((part, index) => part === content[index]) ? content : sent;
}
