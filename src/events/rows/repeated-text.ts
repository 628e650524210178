/**
 * The stored form of a tool's result that repeats long texts: the model mostly gets the same texts that the tool
 * returned, so these are stored once and referred to. Pure.
 */

import { z } from "zod";
import { jsonObjectSchema, jsonSchema, type JsonValue } from "../values/json.ts";

/** The version of `tool.succeeded` whose `repeats` name the texts that `modelOutput` lacks. */
export const REPEATS_VERSION = 2;

/** Characters of a text. A reference to a shorter one saves little. */
const LONG = 1024;
/** Levels of a value that are searched: texts deeper inside are stored twice. */
const LEVELS = 8;

const pathSchema = z.array(z.union([z.string(), z.int()])).readonly();
type Path = z.infer<typeof pathSchema>;

/** The place of each text in `modelOutput`, and of the same text in `output`. */
const repeatsSchema = z.array(z.tuple([pathSchema, pathSchema]));

/** The data without the texts that `modelOutput` repeats; undefined if it repeats none. */
export function withoutRepeats(data: {
  readonly output: JsonValue;
  readonly modelOutput?: unknown;
}): JsonValue | undefined {
  const { output, modelOutput } = data;
  if (modelOutput === undefined) return undefined;
  const known = longTexts(output);
  const repeats: [Path, Path][] = [];
  for (const { path, text } of longTexts(modelOutput)) {
    const same = known.find((one) => one.text === text);
    if (same !== undefined) repeats.push([path, same.path]);
  }
  if (repeats.length === 0) return undefined;
  const rest = repeats.reduce<unknown>((value, [path]) => withText(value, path, ""), modelOutput);
  return jsonSchema.parse({ ...data, modelOutput: rest, repeats });
}

/** The data with all its texts. @throws ZodError if a reference leads to no text */
export function withRepeats(stored: JsonValue): JsonValue {
  const { repeats, ...data } = jsonObjectSchema.parse(stored);
  const modelOutput = repeatsSchema
    .parse(repeats)
    .reduce<unknown>(
      (value, [path, from]) =>
        withText(value, path, z.string().parse(valueAt(data["output"], from))),
      data["modelOutput"],
    );
  return jsonSchema.parse({ ...data, modelOutput });
}

interface FoundText {
  readonly path: Path;
  readonly text: string;
}

function longTexts(value: unknown, path: Path = []): readonly FoundText[] {
  if (typeof value === "string") return value.length < LONG ? [] : [{ path, text: value }];
  if (typeof value !== "object" || value === null || path.length === LEVELS) return [];
  if (Array.isArray(value))
    return value.flatMap((inner, index) => longTexts(inner, [...path, index]));
  return Object.entries(value).flatMap(([key, inner]) => longTexts(inner, [...path, key]));
}

function valueAt(value: unknown, path: Path): unknown {
  return path.reduce<unknown>((at, key) => new Map(entriesOf(at)).get(key), value);
}

/** The value with a text at a place that it has; unchanged without such a place. */
function withText(value: unknown, [key, ...rest]: Path, text: string): unknown {
  if (key === undefined) return text;
  if (Array.isArray(value))
    return value.map((inner: unknown, index) =>
      index === key ? withText(inner, rest, text) : inner,
    );
  return Object.fromEntries(
    entriesOf(value).map(([name, inner]) => [
      name,
      name === key ? withText(inner, rest, text) : inner,
    ]),
  );
}

function entriesOf(value: unknown): readonly (readonly [string | number, unknown])[] {
  if (Array.isArray(value)) return [...value.entries()];
  return typeof value === "object" && value !== null ? Object.entries(value) : [];
}
