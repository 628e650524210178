/** Converts values of tools, providers and errors to JSON for the log. Reading them may throw. */

import { serializeError } from "serialize-error";
import { configure } from "safe-stable-stringify";
import {
  isNestedDeeper,
  jsonObjectSchema,
  jsonSchema,
  MOST_LEVELS,
  plainJson,
  textStart,
  TurnlogError,
  type JsonObject,
  type JsonValue,
  type StoredError,
} from "../events/index.ts";

// The order of properties stays; cycles and big integers must not throw.
const stringify = configure({ deterministic: false, bigint: false, circularValue: "[Circular]" });

/**
 * The value as JSON: dates as text, `undefined` left out (alone: `null`), big integers as decimal text,
 * cycles as `"[Circular]"`.
 * @throws TurnlogError `INVALID_INPUT` if reading the value throws, it is nested more than
 * {@link MOST_LEVELS} levels deep, or its JSON is longer than a string can be
 */
export function toJson(value: unknown): JsonValue {
  if (typeof value === "string") return value;
  const plain = read(() => plainJson(value));
  if (plain !== undefined) return plain;
  const text = read(() => stringifyQuickly(value) ?? stringifySafely(value));
  const json = text === undefined ? null : jsonSchema.parse(JSON.parse(text));
  if (isNestedDeeper(json, MOST_LEVELS)) throw unkept(TOO_DEEP);
  return json;
}

const TOO_DEEP = `it is nested more than ${MOST_LEVELS} levels deep`;

function read<Read>(reading: () => Read): Read {
  try {
    return reading();
  } catch (error) {
    const said = readText(error, "message") ?? "what it throws cannot be read either";
    throw unkept(said.includes("call stack") ? TOO_DEEP : `reading it failed: ${said}`);
  }
}

function unkept(why: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `The value cannot be kept as JSON: ${why}.`);
}

/** Fast, for nearly all values; the others take {@link stringifySafely}. */
function stringifyQuickly(value: unknown): string | undefined {
  try {
    return JSON.stringify(value);
  } catch {
    // A cycle or a big integer; for other values the slow way throws.
    return undefined;
  }
}

function stringifySafely(value: unknown): string | undefined {
  return stringify(value, (_key, inner: unknown) =>
    typeof inner === "bigint" ? inner.toString() : inner,
  );
}

// The failed request can be rebuilt from the log.
const omitted = new Set(["requestBodyValues"]);
/** Levels of an error that are read; the form of a stored error adds some. */
const ERROR_LEVELS = MOST_LEVELS - 10;
/** The most causes of a chain that are stored. */
const MOST_CAUSES = 20;
/** The most characters of a message and of a stack that are stored. */
const MESSAGE_CHARACTERS = 100_000;

function withoutRequests(value: JsonValue): JsonValue {
  if (Array.isArray(value)) return value.map(withoutRequests);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value).flatMap(([key, inner]) =>
      omitted.has(key) ? [] : [[key, withoutRequests(inner)]],
    ),
  );
}

/**
 * Any thrown value, with own fields and the chain of causes; only the readable fields if reading it throws.
 * Never throws.
 */
export function toStoredError(error: unknown): StoredError {
  try {
    return storedError(error);
  } catch {
    return {
      name: readText(error, "name") ?? "Error",
      message:
        readText(error, "message") ?? "A value was thrown that cannot be read: reading it throws.",
    };
  }
}

/** The error itself, or a plain error with its readable fields if reading it throws. */
export function readableError(error: unknown): unknown {
  try {
    storedError(error);
    // The prototypes may throw too.
    void (error instanceof Error);
    return error;
  } catch {
    const { name, message } = toStoredError(error);
    return Object.assign(new Error(message), { name });
  }
}

function storedError(error: unknown): StoredError {
  const json = withoutRequests(toJson(serializeError(error, { maxDepth: ERROR_LEVELS })));
  const parsed = jsonObjectSchema.safeParse(json);
  const fields = parsed.success ? parsed.data : { value: json };
  return shortened(
    {
      ...fields,
      name: typeof fields["name"] === "string" ? fields["name"] : "Error",
      // For an object that is not an error: more useful than "[object Object]".
      message: typeof fields["message"] === "string" ? fields["message"] : JSON.stringify(fields),
    },
    MOST_CAUSES,
  );
}

function shortened<Fields extends JsonObject>(error: Fields, causes: number): Fields {
  const { message, stack, cause } = error;
  const inner = jsonObjectSchema.safeParse(cause);
  const left = causes > 0 ? inner.data && shortened(inner.data, causes - 1) : MORE_CAUSES;
  return {
    ...error,
    ...(typeof message === "string" ? { message: cutText(message) } : {}),
    ...(typeof stack === "string" ? { stack: cutText(stack) } : {}),
    ...(inner.success ? { cause: left } : {}),
  };
}

const MORE_CAUSES = "[The causes before this one are left out.]";

function cutText(text: string): string {
  const left = text.length - MESSAGE_CHARACTERS;
  if (left <= 0) return text;
  return `${textStart(text, MESSAGE_CHARACTERS)}\n[${left} of ${text.length} characters left out.]`;
}

/** Getters may throw. */
function readText(value: unknown, key: "name" | "message"): string | undefined {
  try {
    const text: unknown = Reflect.get(Object(value), key);
    return typeof text === "string" ? cutText(text) : undefined;
  } catch {
    return undefined;
  }
}

export function unreadable(what: string, error: unknown, session?: string): TurnlogError {
  const { message } = toStoredError(error);
  return new TurnlogError(
    "INVALID_INPUT",
    `${what} cannot be read: reading it throws (${message}).`,
    session === undefined ? {} : { session },
  );
}

/**
 * The answer of a user's function that nobody awaits. It is checked, since a promise that fails would end the process.
 * @throws TypeError for a promise
 */
export function atOnce<Answer>(answer: Answer): Answer {
  if (!(answer instanceof Promise)) return answer;
  answer.catch(() => {});
  throw new TypeError("It returned a promise, and must answer at once.");
}
