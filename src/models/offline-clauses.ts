/**
 * Cuts what a user wrote into clauses that each ask for one thing, without the politeness around
 * them. Quoted words are put aside first, so that nothing in them is taken for a request.
 */

/** One thing that is asked for. `quotes` holds the quoted words that `text` names as ⟦0⟧, ⟦1⟧, … */
export interface Clause {
  readonly text: string;
  readonly quotes: readonly string[];
}

/** Words between quotation marks of any kind, or a `/regular expression/` with its slashes. */
const quoted =
  /"([^"]*)"|`([^`]*)`|“([^”]*)”|(?<![\w'])'([^']+)'(?!\w)|(?<!\S)(\/(?:[^/\\\n]|\\.)+\/)(?![\w/.])/g;

const verbs =
  "list|show|display|read|open|print|view|search|find|grep|look|count|write|save|create|explain|tell|how|which|what|where";
const boundary = new RegExp(
  `[;\\n]+|,?\\s+(?:and\\s+)?then\\s+|(?:,|,?\\s+and)\\s+(?=(?:${verbs})\\b)|[.?!]\\s+`,
  "i",
);

const politeness =
  /^(?:(?:please|(?:hey|hi|hello)(?! there)|ok|okay|so|now|and|first|also|next|finally)\b[\s,!:]*|(?:can|could|would|will) you\b\s*|i(?:'d| would)? (?:want|like|need)(?: you)? to\s+|let(?:'s| us|me)\s+)+(?=\S)/i;

/** The clauses of a message, in order; none for a message without words. */
export function clausesOf(message: string): readonly Clause[] {
  const quotes: string[] = [];
  const masked = message.replace(quoted, (_all, ...groups: unknown[]) => {
    const words = groups.slice(0, 5).find((group) => typeof group === "string");
    return `⟦${quotes.push(typeof words === "string" ? words : "") - 1}⟧`;
  });
  return masked
    .split(boundary)
    .map((text) =>
      text
        .trim()
        .replace(/\s+/g, " ")
        .replace(/[\s.?!,]+$/, ""),
    )
    .map((text) => text.replace(politeness, "").replace(/,? please$/i, ""))
    .filter((text) => text !== "")
    .map((text) => ({ text, quotes }));
}

/** Puts quoted words back where they stood. */
export function unquote(text: string, quotes: readonly string[]): string {
  return text.replace(/⟦(\d+)⟧/g, (_all, index: string) => quotes[Number(index)] ?? "");
}
