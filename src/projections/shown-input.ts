/** Inputs of calls as a model is shown its own: long texts in them keep their beginning and their end. */

import type { CutInput, JsonValue } from "../events/index.ts";
import { cutText } from "./shown-result.ts";

/** The share of a cut text that is its beginning. */
const HEAD_SHARE = 0.75;

/** The input with its long texts cut; with `asText`, an object with the beginning and the end of its JSON. */
export function cutInput(
  input: JsonValue,
  { texts, asText }: Pick<CutInput, "texts" | "asText">,
): JsonValue {
  if (asText === true) return { input: shortened(JSON.stringify(input), texts) };
  return withTexts(input, (text) => shortened(text, texts));
}

function shortened(text: string, most: number): string {
  const head = Math.ceil(most * HEAD_SHARE);
  const cut = cutText(text, { head, tail: most - head, call: "" });
  return cut.length < text.length ? cut : text;
}

function withTexts(value: JsonValue, change: (text: string) => string): JsonValue {
  if (typeof value === "string") return change(value);
  if (isList(value)) return value.map((one) => withTexts(one, change));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).map(([key, one]) => [key, withTexts(one, change)]),
  );
}

function isList(value: JsonValue): value is readonly JsonValue[] {
  return Array.isArray(value);
}
