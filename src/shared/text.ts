/** Replaces lone surrogates, which providers refuse: texts that were cut in the middle of a character have them. */
import type { ModelMessage } from "ai";
import { ownCopy, parsedJson } from "../events/index.ts";
import { OneByOne } from "./one-by-one.ts";

/** The value with U+FFFD for lone surrogates in all its texts and keys. The same object if it has none. */
export function wellFormed<Value>(value: Value): Value {
  if (isWellFormed(value)) return value;
  // The same value with other letters in its texts.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  return replaced(value) as Value;
}

function replaced(value: unknown): unknown {
  if (typeof value === "string") return value.isWellFormed() ? value : value.toWellFormed();
  if (Array.isArray(value)) {
    const items = value.map(replaced);
    return items.every((item, index) => item === value[index]) ? value : items;
  }
  if (!isRecord(value)) return value;
  let isSame = true;
  const entries = Object.entries(value).map(([key, one]): readonly [string, unknown] => {
    const entry = [key.toWellFormed(), replaced(one)] as const;
    if (entry[0] !== key || entry[1] !== one) isSame = false;
    return entry;
  });
  return isSame ? value : Object.fromEntries(entries);
}

/** Nearly all values are: looking at one makes nothing. */
function isWellFormed(value: unknown): boolean {
  if (typeof value === "string") return value.isWellFormed();
  if (Array.isArray(value)) return value.every(isWellFormed);
  if (!isRecord(value)) return true;
  for (const key in value) {
    if (!key.isWellFormed() || !isWellFormed(Reflect.get(value, key))) return false;
  }
  return true;
}

/** Not bytes, URLs and other instances: a file's data is sent as it is. */
function isRecord(value: unknown): value is object {
  if (typeof value !== "object" || value === null) return false;
  const prototype: unknown = Object.getPrototypeOf(value);
  return prototype === null || prototype === Object.prototype;
}

export function isJson(text: string): boolean {
  return parsedJson(text) !== undefined;
}

// Ends a foreign sentence, so that one of ours can follow. Pure.

/** Adds a full stop, unless the text ends like a sentence. */
export function withFullStop(words: string): string {
  const said = words.trimEnd();
  return said === "" || /[.!?…。！？]["'”’)\]`]*$/u.test(said) ? said : `${said}.`;
}

/**
 * The lines of a text that comes in pieces, without their ends. Only `\n` ends a line: Node's `readline` also
 * breaks at U+2028 and U+2029, which JSON allows in strings.
 */
export function textLines(pieces: AsyncIterable<string>): AsyncGenerator<string, void> {
  return new OneByOne(linePages(pieces));
}

async function* linePages(pieces: AsyncIterable<string>): AsyncGenerator<readonly string[]> {
  let open: string[] = [];
  for await (const piece of pieces) {
    const [first = "", ...lines] = piece.split("\n");
    open.push(first);
    const next = lines.pop();
    if (next === undefined) continue;
    // Joined once: a long line may arrive in many pieces.
    yield [open.join(""), ...lines];
    open = [next];
  }
  const rest = open.join("");
  if (rest !== "") yield [rest];
}

// The prompt's messages for a tool's callback, as the AI SDK passes them: a copy, made on first access.

/** Most tools never read them. */
export function withMessages<Options extends object>(
  options: Options,
  messages: readonly ModelMessage[],
): Options & { messages: ModelMessage[] } {
  let own: ModelMessage[] | undefined;
  return Object.defineProperty(
    // The property is defined here.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    options as Options & { messages: ModelMessage[] },
    "messages",
    {
      configurable: true,
      enumerable: true,
      get: () => (own ??= ownCopy([...messages])),
      set: (given: ModelMessage[]) => {
        own = given;
      },
    },
  );
}
