/**
 * The value of JSON that is still being written, by the rules of the AI SDK's `parsePartialJson`, which
 * is asynchronous and loads all of `ai`: open texts, lists and objects are closed, a key without a value
 * is left out. Pure.
 */

/** The value so far; undefined if there is none. */
export function partialJson(text: string): unknown {
  return parsed(text) ?? parsed(completed(text));
}

function parsed(text: string): unknown {
  try {
    const value: unknown = JSON.parse(text);
    return value;
  } catch {
    return undefined;
  }
}

/** What the scanner is in, innermost last. */
type Place =
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

/** The places in an object or a list, and what closes it. */
const closers: Partial<Record<Place, string>> = {
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
  const places: Place[] = ["root"];
  let kept = 0;
  let literalStart = 0;
  let digits = 0;

  const enter = (after: Place, inner: Place): void => {
    places.pop();
    places.push(after, inner);
  };
  const go = (place: Place): void => {
    places.pop();
    places.push(place);
  };
  const close = (index: number): void => {
    kept = index + 1;
    places.pop();
  };
  const begin = (char: string, index: number, after: Place): void => {
    const inner = beginning(char);
    if (inner === undefined) return;
    // A sign alone is no number yet.
    if (char !== "-") kept = index + 1;
    literalStart = index;
    enter(after, inner);
  };
  const afterValue = (char: string, index: number): void => {
    const place = places.at(-1);
    if (place === "after-field" && char === ",") go("next-key");
    else if (place === "after-item" && char === ",") go("next-item");
    else if (place === "after-field" && char === "}") close(index);
    else if (place === "after-item" && char === "]") close(index);
  };

  for (let index = 0; index < text.length; index++) {
    const char = text.charAt(index);
    switch (places.at(-1)) {
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
        if (char === "\\") places.push("escape");
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
          places.pop();
          afterValue(char, index);
        }
        break;
      case "literal": {
        const written = text.slice(literalStart, index + 1);
        if (literals.some((literal) => literal.startsWith(written))) kept = index + 1;
        else {
          places.pop();
          afterValue(char, index);
        }
        break;
      }
      case "end":
      case undefined:
    }
  }
  const written = text.slice(literalStart);
  const endings = places.toReversed().map((place) => {
    if (place !== "literal") return closers[place] ?? "";
    return literals.find((literal) => literal.startsWith(written))?.slice(written.length) ?? "";
  });
  return text.slice(0, kept) + endings.join("");
}

function beginning(char: string): Place | undefined {
  if (char === '"') return "text";
  if (char === "{") return "object";
  if (char === "[") return "list";
  if (char === "f" || char === "t" || char === "n") return "literal";
  return /[\d-]/.test(char) ? "number" : undefined;
}
