/**
 * Splits a message into clauses and recognises each request. A clause that no rule matches is `unknown`: the
 * model never guesses. Pure.
 */
import {
  firstFit,
  forACount,
  forACountOfMatches,
  forAFile,
  forAFoundFile,
  forAListing,
  forAnAccount,
  forASearch,
  forFilesByName,
  forHelp,
  forWriting,
  noFile,
  ofAllBelow,
  ofLines,
  onlyFiles,
  type Found,
} from "./offline-phrases.ts";
import { scopeOf, subjectOf, unquote, type Scope, type Subject } from "./offline-scope.ts";

/** A request to the offline model. `*-found` refers to files of earlier answers. */
export type OfflineRequest =
  | ({ readonly kind: "list"; readonly recursive: boolean } & Scope)
  | { readonly kind: "read"; readonly path: string; readonly range: LineRange }
  | { readonly kind: "read-found"; readonly which: number }
  | ({ readonly kind: "search" } & Subject)
  | ({ readonly kind: "count-matches" } & Subject)
  | ({ readonly kind: "count-files" } & Scope)
  | ({ readonly kind: "count-lines" } & Scope)
  | { readonly kind: "count-lines-found" }
  | { readonly kind: "write"; readonly path: string; readonly text: string }
  | { readonly kind: "explain" }
  | { readonly kind: "help" }
  | { readonly kind: "unknown"; readonly text: string };

/** Lines from 1, including both ends. */
export interface LineRange {
  readonly startLine?: number;
  readonly endLine?: number;
}

export function requestsIn(message: string): readonly OfflineRequest[] {
  return clausesOf(message).map(understand);
}

/** Most characters of a request: the rules are not tried on pasted text. */
const longestClause = 400;

function understand({ text, quotes }: Clause): OfflineRequest {
  for (const rule of text.length <= longestClause ? rules : []) {
    const request = rule(text, quotes);
    if (request !== undefined) return request;
  }
  return { kind: "unknown", text: unquote(text, quotes) };
}

type Rule = (clause: string, quotes: readonly string[]) => OfflineRequest | undefined;

const help: Rule = (clause) => firstFit(clause, forHelp) && { kind: "help" };

const explain: Rule = (clause) => firstFit(clause, forAnAccount) && { kind: "explain" };

const count: Rule = (clause, quotes) => {
  const asked = firstFit(clause, forACount)?.rest?.replace(thatThereAre, "");
  if (asked === undefined) return undefined;
  const found = firstFit(asked, forACountOfMatches);
  if (found !== undefined) return searchFor("count-matches", found, clause, quotes);

  const long = /^how long\b/i.test(clause);
  if (long || /\blines?\b/i.test(asked)) {
    if (/\b(?:its|it|them|those|that)\b/i.test(asked)) return { kind: "count-lines-found" };
    if (long && !asked.includes(" ")) return { kind: "count-lines", path: unquote(asked, quotes) };
    return { kind: "count-lines", ...scopeOf(asked, quotes) };
  }
  if (!/\b(?:files?|entries)\b/i.test(asked)) return undefined;
  return { kind: "count-files", ...scopeOf(asked, quotes) };
};

const thatThereAre = / ?(?:are|is) there$|^there |\bare there (?=in\b)/i;

const search: Rule = (clause, quotes) => {
  const found = firstFit(clause, forASearch);
  if (found?.thing === undefined || onlyFiles.test(found.thing)) return undefined;
  return searchFor("search", found, clause, quotes);
};

function searchFor(
  kind: "search" | "count-matches",
  { thing = "", rest = "", place }: Found,
  clause: string,
  quotes: readonly string[],
): OfflineRequest | undefined {
  const words = place === undefined ? `${thing}${rest}` : `${thing} in ${place}`;
  const subject = subjectOf(words, clause, quotes);
  return subject && { kind, ...subject };
}

const readFound: Rule = (clause) => {
  const found = firstFit(clause, forAFoundFile);
  if (found === undefined) return undefined;
  const places: Readonly<Record<string, number>> = { first: 0, second: 1, third: 2, last: -1 };
  return { kind: "read-found", which: places[found.which?.toLowerCase() ?? "first"] ?? 0 };
};

const read: Rule = (clause, quotes) => {
  const lines: Found | undefined = firstFit(clause, [ofLines]);
  const path = firstFit(clause.replace(ofLines, ""), forAFile)?.path;
  if (path === undefined || noFile.test(path)) return undefined;
  return { kind: "read", path: unquote(path, quotes), range: lines ? rangeOf(lines) : {} };
};

function rangeOf({ from = "1", to, first }: Found): LineRange {
  return { startLine: Number(from), endLine: Number(to ?? first ?? from) };
}

const list: Rule = (clause, quotes) => {
  const name = firstFit(clause, forFilesByName)?.path;
  if (name !== undefined) {
    return { kind: "list", path: ".", pattern: `**/${unquote(name, quotes)}`, recursive: true };
  }
  if (firstFit(clause, forAListing) === undefined) return undefined;
  const scope = scopeOf(clause.replace(/^(?:ls|dir) (?=\S)/i, "list files in "), quotes);
  return {
    kind: "list",
    ...scope,
    recursive: scope.pattern !== undefined || ofAllBelow.test(clause),
  };
};

const write: Rule = (clause, quotes) => {
  const found = firstFit(clause, forWriting);
  if (found?.path === undefined) return undefined;
  const text = unquote(found.words ?? "", quotes);
  return { kind: "write", path: unquote(found.path, quotes), text };
};

const rules: readonly Rule[] = [help, explain, count, search, readFound, read, list, write];

/** One clause of a message. `quotes` has the quoted words that `text` names as ⟦0⟧, ⟦1⟧, … */
interface Clause {
  readonly text: string;
  readonly quotes: readonly string[];
}

/** Words in quotation marks of any kind, or a `/regular expression/`. */
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

/** The clauses of a message without polite phrases. Quotes are masked first, so that they contain no clauses. */
function clausesOf(message: string): readonly Clause[] {
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
