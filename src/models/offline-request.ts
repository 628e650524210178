/** Understands a few English requests. A clause that no phrase matches is `unknown`: the model never guesses. Pure. */

/** A request to the offline model. `read-found` refers to a file of an earlier answer. */
export type OfflineRequest =
  | ({ readonly kind: "list"; readonly recursive: boolean } & Scope)
  | ({ readonly kind: "search"; readonly query: string; readonly regex: boolean } & Partial<Scope>)
  | { readonly kind: "read"; readonly path: string }
  | { readonly kind: "read-found"; readonly which: number }
  | { readonly kind: "write"; readonly path: string; readonly text: string }
  | { readonly kind: "project" | "explain" | "help" }
  | { readonly kind: "unknown"; readonly text: string };

/** The files below `path` that match `pattern`, a glob. */
export interface Scope {
  readonly path: string;
  readonly pattern?: string;
}

/** Most characters of a request: the phrases are not tried on pasted text. */
const longestClause = 400;

export function requestsIn(message: string): readonly OfflineRequest[] {
  return clausesOf(message).map(({ text, quotes }) => {
    for (const [phrase, make] of text.length <= longestClause ? phrases : []) {
      const found = phrase.exec(text)?.groups;
      const request = found && make((part) => unquote(found[part] ?? "", quotes), text);
      if (request !== undefined) return request;
    }
    return { kind: "unknown", text: unquote(text, quotes) };
  });
}

/** Makes a request of the named parts of a phrase. */
type Make = (
  part: (name: "thing" | "kind" | "place" | "path" | "text") => string,
  clause: string,
) => OfflineRequest | undefined;

const mentions =
  "(?:mention|contain|include|use|import|reference|require|call|define|say)(?:s|es)?";
const verb = "(?:read|open|cat|print|view|show|display)(?: me)?";
const inPlace =
  "(?: (?:in|under) (?:(?:the|this|of) )*(?<place>\\S+?)(?: (?:folder|directory|files?))?)?";
const files = "(?:(?:all|the|every|of) )*(?:(?<kind>[\\w*.]+) )?files?";

const search: Make = (part) => {
  const text = part("thing").replace(/^(?:the )?(?:word|text|string) /i, "");
  const expression = /^\/(.+)\/$/.exec(text)?.[1];
  const { path, pattern } = scopeOf(part("place"), part("kind"));
  return {
    kind: "search",
    query: expression ?? text,
    regex: expression !== undefined,
    ...(path !== "." && { path }),
    ...(pattern !== undefined && { pattern }),
  };
};

const list: Make = (part, clause) => {
  const scope = scopeOf(part("place"), part("kind"));
  const deep = /\b(?:all|every|many|count)\b/i.test(clause) || scope.pattern !== undefined;
  return { kind: "list", ...scope, recursive: deep };
};

const read: Make = (part) => ({ kind: "read", path: part("path") });
const write: Make = (part) => ({ kind: "write", path: part("path"), text: part("text") });
const simply =
  (kind: "project" | "explain" | "help"): Make =>
  () => ({ kind });

/** Each with an example. `(?<thing>)` alone gives a phrase groups. */
const phrases: readonly (readonly [RegExp, Make])[] = [
  // hello; what can you do
  [
    /^(?<thing>)(?:help|hi|hello|hey|(?:who|what) are you|what can (?:you do|i ask)|tell me what you can do)(?: there)?$/i,
    simply("help"),
  ],
  // what does this project do; what is this repository about
  [
    /^(?<thing>)(?:what (?:does|is)|what's|describe|explain|tell me about|summari[sz]e)(?: (?:this|the))? (?:project|repo(?:sitory)?|code ?base|package|folder)\b(?!\.)/i,
    simply("project"),
  ],
  [/^(?<thing>)what (?:does this do|is this(?: about)?)$/i, simply("project")],
  // what did you do; explain what you did
  [
    /\b(?<thing>)(?:what|how|why|which tools) (?:(?:did|have) you|you (?:just )?(?:did|have done))\b/i,
    simply("explain"),
  ],
  // which typescript files in src mention zod
  [
    new RegExp(
      `^(?:find|show|list|which|what|how many)(?: me)? ${files}(?: in (?<place>\\S+))?(?: (?:that|which))? ${mentions} (?<thing>.+)$`,
      "i",
    ),
    searchIn,
  ],
  // where is createRuntime used in src
  [
    new RegExp(
      `^(?:where (?:is|are)|what uses|who uses) (?<thing>.+?)(?: (?:used|defined|mentioned|called|imported))?${inPlace}$`,
      "i",
    ),
    search,
  ],
  // search for foo bar in the src folder
  [new RegExp(`^(?:search|grep|look)(?: for)? (?<thing>.+?)${inPlace}$`, "i"), search],
  // list all markdown files in docs; how many files are there
  [
    new RegExp(
      `^(?:list|show|find|which|what|count|how many)(?: me)? ${files}(?: (?:are|do you see))?(?: (?:there|here))?${inPlace}$`,
      "i",
    ),
    list,
  ],
  // ls src; what's in src
  [new RegExp(`^(?:ls|dir|list)(?: (?<place>\\S+))?$`, "i"), list],
  [/^what(?:'s| is) (?:in|here)(?: (?:the )?(?<place>[^\s.]+))?$/i, list],
  // find zod in src
  [new RegExp(`^find (?<thing>.+?)${inPlace}$`, "i"), search],
  // read it; open the second file
  [
    new RegExp(
      `^${verb} (?:the )?(?<thing>it|them|that|first|second|third|last)(?: (?:one|file|match|result))?$`,
      "i",
    ),
    readFound,
  ],
  // show me the contents of a.txt; what does a.txt say
  [
    new RegExp(
      `^${verb}(?: the)?(?: (?:contents?|text) of)?(?: the)?(?: file)? (?<path>(?!files?$)\\S+)(?: file)?$`,
      "i",
    ),
    read,
  ],
  [
    /^what(?:'s| is| does) (?:in )?(?:the )?(?:file )?(?<path>\S*\.\w+)(?: (?:say|contain))?$/i,
    read,
  ],
  // how many lines does a.txt have: the answer names them
  [/^how (?:many lines (?:does|are in)|long is) (?<path>\S+)(?: have)?$/i, read],
  // write hello to a.txt; create a file a.txt with hello
  [
    /^(?:write|save|put) (?<text>.+) (?:to|into|in) (?:(?:the|a) )?(?:new )?(?:file )?(?<path>\S+)$/i,
    write,
  ],
  [
    /^(?:create|make|write) (?:(?:the|a) )?(?:new )?(?:file )?(?:(?:called|named) )?(?<path>\S+) (?:with|containing|saying) (?<text>.+)$/i,
    write,
  ],
];

/** The place may come before the verb or at the end. */
function searchIn(...[part, clause]: Parameters<Make>): ReturnType<Make> {
  const [, thing = "", place = ""] =
    /^(.+?) (?:in|under) (?:the )?(\S+)(?: folder)?$/i.exec(part("thing")) ?? [];
  if (thing === "") return search(part, clause);
  return search(
    (name) => (name === "thing" ? thing : name === "place" ? place : part(name)),
    clause,
  );
}

function readFound(...[part]: Parameters<Make>): OfflineRequest {
  const places: Readonly<Record<string, number>> = { second: 1, third: 2, last: -1 };
  return { kind: "read-found", which: places[part("thing").toLowerCase()] ?? 0 };
}

const noPlace = /^(?:|here|there|it|this|folder|directory|project|repository|repo|code|codebase)$/i;
const extensions: Readonly<Record<string, string>> = {
  typescript: "ts",
  javascript: "js",
  markdown: "md",
  python: "py",
  text: "txt",
};

/** A place with a star is a glob, and a kind is the end of names: "markdown", "ts". */
function scopeOf(place: string, kind: string): Scope {
  if (place.includes("*")) return { path: ".", pattern: place };
  const path = noPlace.test(place) ? "." : place;
  const end = kind.replace(/^\*?\./, "").toLowerCase();
  return end === "" ? { path } : { path, pattern: `**/*.${extensions[end] ?? end}` };
}

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

function unquote(text: string, quotes: readonly string[]): string {
  return text.replace(/⟦(\d+)⟧/g, (_all, index: string) => quotes[Number(index)] ?? "");
}
