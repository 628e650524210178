/**
 * The value of JSON that is still being written, by the rules of the AI SDK's `parsePartialJson`, which
 * is asynchronous and loads all of `ai`: open texts, lists and objects are closed, a key without a value
 * is left out. Pure.
 */

import { parsedJson } from "../events/index.ts";

/** The value so far; undefined if there is none. */
export function partialJson(text: string): unknown {
  return parsedJson(text) ?? parsedJson(completed(text));
}

/** What the scanner is in, innermost last. */
type ParserState =
  | "root"
  | "end"
  | "text"
  | "escape"
  | "unicode"
  | "literal"
  | "number"
  | "object"
  | "key"
  | "colon"
  | "field"
  | "after-field"
  | "next-key"
  | "list"
  | "after-item"
  | "next-item";

/** The states in an object or a list, and what closes it. */
const closers: Partial<Record<ParserState, string>> = {
  text: '"',
  object: "}",
  key: "}",
  colon: "}",
  field: "}",
  "after-field": "}",
  "next-key": "}",
  list: "]",
  "after-item": "]",
  "next-item": "]",
};

const literals = ["true", "false", "null"];

/** The text up to the last character of a value, with everything closed that is open. */
function completed(text: string): string {
  const states: ParserState[] = ["root"];
  let kept = 0;
  let literalStart = 0;
  let digits = 0;

  const enter = (after: ParserState, inner: ParserState): void => {
    states.pop();
    states.push(after, inner);
  };
  const go = (state: ParserState): void => {
    states.pop();
    states.push(state);
  };
  const close = (index: number): void => {
    kept = index + 1;
    states.pop();
  };
  const begin = (char: string, index: number, after: ParserState): void => {
    const inner = beginning(char);
    if (inner === undefined) return;
    // A sign alone is no number yet.
    if (char !== "-") kept = index + 1;
    literalStart = index;
    enter(after, inner);
  };
  const afterValue = (char: string, index: number): void => {
    const state = states.at(-1);
    if (state === "after-field" && char === ",") go("next-key");
    else if (state === "after-item" && char === ",") go("next-item");
    else if (state === "after-field" && char === "}") close(index);
    else if (state === "after-item" && char === "]") close(index);
  };

  for (let index = 0; index < text.length; index++) {
    const char = text.charAt(index);
    switch (states.at(-1)) {
      case "root":
        begin(char, index, "end");
        break;
      case "object":
        if (char === '"') go("key");
        else if (char === "}") close(index);
        break;
      case "next-key":
        if (char === '"') go("key");
        break;
      case "key":
        if (char === '"') go("colon");
        break;
      case "colon":
        if (char === ":") go("field");
        break;
      case "field":
        begin(char, index, "after-field");
        break;
      case "list":
        if (char === "]") close(index);
        else begin(char, index, "after-item");
        break;
      case "next-item":
        begin(char, index, "after-item");
        break;
      case "after-field":
        afterValue(char, index);
        break;
      case "after-item":
        if (char !== "," && char !== "]") kept = index + 1;
        afterValue(char, index);
        break;
      case "text":
        if (char === "\\") states.push("escape");
        else if (char === '"') close(index);
        else kept = index + 1;
        break;
      case "escape":
        digits = 0;
        if (char === "u") go("unicode");
        else close(index);
        break;
      case "unicode":
        if (/[\da-f]/i.test(char) && ++digits === 4) close(index);
        break;
      case "number":
        if (/\d/.test(char)) kept = index + 1;
        else if (!/[eE.-]/.test(char)) {
          states.pop();
          afterValue(char, index);
        }
        break;
      case "literal": {
        const written = text.slice(literalStart, index + 1);
        if (literals.some((literal) => literal.startsWith(written))) kept = index + 1;
        else {
          states.pop();
          afterValue(char, index);
        }
        break;
      }
      case "end":
      case undefined:
    }
  }
  const written = text.slice(literalStart);
  const endings = states.toReversed().map((state) => {
    if (state !== "literal") return closers[state] ?? "";
    return literals.find((literal) => literal.startsWith(written))?.slice(written.length) ?? "";
  });
  return text.slice(0, kept) + endings.join("");
}

function beginning(char: string): ParserState | undefined {
  if (char === '"') return "text";
  if (char === "{") return "object";
  if (char === "[") return "list";
  if (char === "f" || char === "t" || char === "n") return "literal";
  return /[\d-]/.test(char) ? "number" : undefined;
}
