/** Brings what `toModelOutput` of a tool answered into the form in which it is recorded: bytes as base64, addresses as text. */

import { convertUint8ArrayToBase64 } from "@ai-sdk/provider-utils";
import {
  modelOutputSchema,
  outputFault,
  TurnlogError,
  type ModelOutput,
} from "../../events/index.ts";
import { toJson } from "../../shared/index.ts";

/** @throws TurnlogError `INVALID_INPUT` for an answer that no prompt can contain; the message names its field */
export function recordedOutput(given: unknown): ModelOutput {
  const output = toJson(withPlainFiles(given));
  const fault = outputFault(output);
  if (fault !== undefined) throw new TurnlogError("INVALID_INPUT", fault);
  return modelOutputSchema.parse(output);
}

function withPlainFiles(given: unknown): unknown {
  if (typeof given !== "object" || given === null || !("value" in given)) return given;
  if (!Array.isArray(given.value)) return given;
  return { ...given, value: given.value.map(plainFile) };
}

function plainFile(part: unknown): unknown {
  if (typeof part !== "object" || part === null || !("data" in part)) return part;
  // What is known of a blob is for the session to say.
  const file = { ...part, blob: undefined };
  const { data } = part;
  if (typeof data !== "object" || data === null || !("data" in data)) return file;
  return { ...file, data: { ...data, data: asText(data.data) } };
}

function asText(data: unknown): unknown {
  if (data instanceof ArrayBuffer) return convertUint8ArrayToBase64(new Uint8Array(data));
  return data instanceof Uint8Array ? convertUint8ArrayToBase64(data) : data;
}
