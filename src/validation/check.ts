/**
 * Checks the arguments of a public function before anything is done: callers may use plain JavaScript, and
 * types do not exclude NaN. Valid arguments are used as they are.
 */

import { z } from "zod";
import { TurnlogError, cutShort } from "../events/index.ts";
import { closestMatch } from "leven";
import { uncompiled } from "./schemas.ts";

interface InputPlace {
  /** The name of the parameter. */
  readonly name?: string;
  readonly session?: string;
}

/**
 * @param who The called function, for instance `createRuntime`.
 * @throws TurnlogError `INVALID_INPUT`. The message names the first wrong option, `details.option` has
 * its path, and `details.nearest` the nearest known name.
 */
export function check(
  schema: z.ZodType,
  given: unknown,
  who: string,
  { name, session }: InputPlace = {},
): void {
  let error: z.ZodError | undefined;
  try {
    ({ error } = schema.safeParse(given, uncompiled));
  } catch {
    // A getter or a proxy threw; reading its error may throw too.
    const option = name ?? "the value";
    throw new TurnlogError(
      "INVALID_INPUT",
      `${who}: \`${option}\` cannot be read: reading it throws.`,
      {
        details: { option },
        ...(session === undefined ? {} : { session }),
      },
    );
  }
  if (error !== undefined) throw invalidInput({ schema, given, error, who, name, session });
}

interface Refused {
  readonly schema: z.ZodType;
  readonly given: unknown;
  readonly error: z.ZodError;
  readonly who: string;
  readonly name?: string | undefined;
  /** What the value is called that is wrong as a whole. */
  readonly whole?: string;
  readonly session?: string | undefined;
}

/** The error for a value that does not fit its schema. */
export function invalidInput(refused: Refused): TurnlogError {
  const { error, who, name, whole = "", session } = refused;
  const [issue] = error.issues;
  const at = [...(name === undefined ? [] : [name]), ...(issue?.path ?? [])].map(String);
  const { text, nearest, path = at } = sentence(refused, issue, at);
  const option = path.length === 0 ? whole : path.join(".");
  return new TurnlogError("INVALID_INPUT", `${who}: ${text}`, {
    cause: error,
    details: { option, ...(nearest === undefined ? {} : { nearest }) },
    ...(session === undefined ? {} : { session }),
  });
}

interface Sentence {
  readonly text: string;
  readonly nearest?: string | undefined;
  /** Of a key that is unknown. */
  readonly path?: readonly string[];
}

/** The words of zod itself, which are whole sentences. */
const ownWords = /^(?:Invalid|Too|Unrecognized) /;

function sentence(
  { schema, given, whole }: Refused,
  issue: z.core.$ZodIssue | undefined,
  path: readonly string[],
): Sentence {
  const option = path.length === 0 ? `the ${whole ?? "value"}` : `\`${path.join(".")}\``;
  if (issue?.code === "unrecognized_keys") {
    const [unknown = ""] = issue.keys;
    return unknownKey([...path, unknown], {
      unknown,
      known: issue.path.length > 0 ? [] : keysOf(schema),
    });
  }
  const unknown = unknownKeySchema.safeParse(issue?.code === "custom" ? issue.params : undefined);
  if (unknown.success) return unknownKey(path, unknown.data);
  const wanted = issue?.message ?? "something else";
  if (ownWords.test(wanted)) return { text: `${option} is wrong: ${wanted}.` };
  const value = shown(valueAt(given, issue?.path ?? []));
  const instead = wanted.startsWith(value) ? "; this one is not" : `, not ${value}`;
  return { text: `${option} must be ${wanted}${instead}.` };
}

function unknownKey(
  path: readonly string[],
  { unknown, known, hint }: z.output<typeof unknownKeySchema>,
): Sentence {
  const option = `\`${path.join(".")}\``;
  if (hint !== undefined) return { text: `${option} is not supported: ${hint}`, path };
  const nearest = nearestName(unknown, known);
  const listed = known.length === 0 ? "" : ` Known here: ${known.join(", ")}.`;
  const advice =
    nearest === undefined
      ? listed
      : ` Did you mean \`${[...path.slice(0, -1), nearest].join(".")}\`?`;
  return { text: `${option} is unknown.${advice}`, nearest, path };
}

function keysOf(schema: z.ZodType): readonly string[] {
  const inner = schema instanceof z.ZodOptional ? schema.unwrap() : schema;
  return inner instanceof z.ZodObject ? Object.keys(inner.shape) : [];
}

const unknownKeySchema = z.object({
  unknown: z.string(),
  known: z.array(z.string()).readonly(),
  hint: z.string().optional(),
});

function valueAt(given: unknown, path: readonly PropertyKey[]): unknown {
  let value = given;
  for (const key of path) {
    if (typeof value !== "object" || value === null) return undefined;
    value = Reflect.get(value, key);
  }
  return value;
}

/** Enough to recognise the value. Objects are not shown: they may contain secrets. */
function shown(value: unknown): string {
  switch (typeof value) {
    case "string":
      return JSON.stringify(cutShort(value, 40));
    case "object":
      if (value === null) return "null";
      return Array.isArray(value) ? "an array" : "an object";
    case "function":
      return "a function";
    default:
      return String(value);
  }
}

/** Undefined if no name is near. */
export function nearestName(unknown: string, names: readonly string[]): string | undefined {
  const written = plain(unknown);
  const known = new Map(names.map((name) => [plain(name), name]));
  const maxDistance = Math.min(3, Math.ceil(written.length / 3));
  const near = closestMatch(written, [...known.keys()], { maxDistance });
  return near === undefined ? containing(written, known) : known.get(near);
}

/** `max_steps` and `maxSteps` count as the same name. */
function plain(name: string): string {
  return name.toLowerCase().replaceAll(/[^a-z0-9]/g, "");
}

/** One name is part of the other, as `timeout` and `timeoutMs`. */
function containing(written: string, known: ReadonlyMap<string, string>): string | undefined {
  if (written.length < 3) return undefined;
  for (const [name, as] of known) {
    if (name.length >= 3 && (name.includes(written) || written.includes(name))) return as;
  }
  return undefined;
}
