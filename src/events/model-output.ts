/**
 * What a tool gives the model, by the AI SDK's own rules, as a log has it: files as base64, addresses as
 * text. The schemas of events take more, since logs of earlier releases hold more: what breaks these
 * rules is refused when it is recorded, and shown as a sentence where a log has it. Pure.
 */

import { z } from "zod";
import { blobMeasuresSchema } from "./blob-reference.ts";
import { providerReferenceSchema } from "./file-reference.ts";
import { isNestedDeeper, jsonObjectSchema, MOST_LEVELS, type JsonValue } from "./json.ts";
import type { ModelOutput } from "./tool-events.ts";

const options = { providerOptions: z.record(z.string(), jsonObjectSchema).optional() };
const text = z.string();
const json = z.custom<JsonValue>(
  (value) => value !== undefined && !isNestedDeeper(value, MOST_LEVELS),
  `Invalid input: expected JSON of at most ${MOST_LEVELS} levels`,
);
const url = z.string().refine((value) => URL.canParse(value), "Invalid input: expected an address");
const reference = providerReferenceSchema;
const file = { mediaType: text, filename: text.optional(), blob: blobMeasuresSchema.optional() };
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

const output = z.discriminatedUnion("type", [
  z.looseObject({ type: z.literal("text"), value: text, ...options }),
  z.looseObject({ type: z.literal("json"), value: json, ...options }),
  z.looseObject({ type: z.literal("execution-denied"), reason: text.optional(), ...options }),
  z.looseObject({ type: z.literal("error-text"), value: text, ...options }),
  z.looseObject({ type: z.literal("error-json"), value: json, ...options }),
  z.looseObject({ type: z.literal("content"), value: z.array(part) }),
]);

const known = new WeakMap<object, string | undefined>();

/** Why no prompt can contain what a tool gives the model: its field and what is wrong; undefined where one can. */
export function outputFault(given: unknown): string | undefined {
  // An output is looked at once, however often it is shown.
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

/** The output itself; in the place of one that no prompt can contain, a sentence that says so. */
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

/** One object for each, so that it is measured and hashed once. */
const replaced = new WeakMap<ModelOutput, ModelOutput>();
