/**
 * Understands the nouns of a clause: which files are meant ("in src", "in markdown files"), and
 * what is searched for ("the word foo in src", "/fo+/"). Pure; called by the request rules.
 */
import { unquote } from "./offline-clauses.ts";

/** Which files are meant: those below `path`, of a kind where `pattern` (a glob) is given. */
export interface Scope {
  readonly path: string;
  readonly pattern?: string;
}

/** What is searched for, and where. */
export interface Subject {
  readonly query: string;
  readonly regex: boolean;
  readonly path?: string;
  readonly pattern?: string;
}

const extensions: Readonly<Record<string, string>> = {
  typescript: "ts",
  javascript: "js",
  markdown: "md",
  python: "py",
  rust: "rs",
  text: "txt",
  yaml: "{yml,yaml}",
};
const kind =
  "\\*?\\.?(?:typescript|javascript|markdown|python|rust|text|yaml|tsx?|jsx?|mjs|md|json|css|html|py|rs|go|txt|toml|sh)";
const spokenKind = new RegExp(`(?<![\\w/])(${kind}) (?:source )?files?\\b`, "i");
const kindAtEnd = new RegExp(
  ` (?:in|of|within|from) (?:the |all |any )*${kind} (?:source )?files?(?=$| (?:in|under)\\s)`,
  "i",
);
const placeAtEnd =
  /(?:^| )(?:in|under|inside|within|of|from|below|does|do|has|have) (?:(?:the|this) )?(?:(?:folder|directory|file) )?(\S+)(?: (?:folder|directory|file|have|has|contain))*$/i;
const noPlace =
  /^(?:here|there|it|this|that|its?|them|folder|directory|project|repository|repo|code|codebase|files?|all|total|you|see|the|mind)$/i;
/** A glob after a word that speaks of files; elsewhere a `*` is part of what is searched for. */
const globs = /(?:^| )(?:in|under|of|all|the|list|files|matching) (\S*\*\S*)/i;
const filler =
  /^(?:(?:for|all|any|the|a|an|words?|text|string|phrase|term|name|mentions of|occurrences of|uses of|references to|regex|pattern|expression) )+(?=\S)/i;

/** The folder or file that a clause names at its end, and the kind of files that it speaks of. */
export function scopeOf(text: string, quotes: readonly string[]): Scope {
  const place = placeAtEnd.exec(text.replace(kindAtEnd, ""))?.[1];
  const named = place !== undefined && !noPlace.test(place) && !place.includes("*");
  const path = named ? unquote(place, quotes) : ".";
  const glob = globs.exec(text)?.[1];
  if (glob !== undefined) return { path, pattern: glob };
  const spoken = spokenKind
    .exec(text)?.[1]
    ?.replace(/^\*?\.?/, "")
    .toLowerCase();
  if (spoken === undefined) return { path };
  return { path, pattern: `**/*.${extensions[spoken] ?? spoken}` };
}

/**
 * What is searched for, from the words after the verb. The kind of files may also be spoken of
 * before the verb ("which typescript files import zod"), so the whole clause is looked at for it.
 */
export function subjectOf(
  words: string,
  clause: string,
  quotes: readonly string[],
): Subject | undefined {
  const { path } = scopeOf(words, quotes);
  const { pattern } = scopeOf(clause, quotes);
  const bare = words
    .replace(kindAtEnd, "")
    .replace(/ in \S*\*\S*(?: files?)?$/i, "")
    .replace(placeAtEnd, (all, place: string) => (noPlace.test(place) || path !== "." ? "" : all));
  const text = unquote(bare.trim().replace(filler, ""), quotes);
  if (text === "") return undefined;
  const expression = /^\/(.+)\/$/.exec(text)?.[1];
  return {
    query: expression ?? text,
    regex: expression !== undefined || /\b(?:regex|regular expression)\s/i.test(words),
    ...(path !== "." && { path }),
    ...(pattern !== undefined && { pattern }),
  };
}
