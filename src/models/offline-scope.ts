/** Recognises the files that a clause means ("in src", "in markdown files") and the text to search for. Pure. */

/** The files below `path` that match `pattern`, a glob. */
export interface Scope {
  readonly path: string;
  readonly pattern?: string;
}

/** A text or regular expression, and the files to search. */
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
/** A glob after a word about files; elsewhere a `*` belongs to the searched text. */
const globs = /(?:^| )(?:in|under|of|all|the|list|files|matching) (\S*\*\S*)/i;
const filler =
  /^(?:(?:for|all|any|the|a|an|words?|text|string|phrase|term|name|mentions of|occurrences of|uses of|references to|regex|pattern|expression) )+(?=\S)/i;

/** The folder or file at the end of a clause, and the type of files that it names. */
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

/** The type of files may come before the verb ("which typescript files import zod"): the whole clause is searched. */
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

export function unquote(text: string, quotes: readonly string[]): string {
  return text.replace(/⟦(\d+)⟧/g, (_all, index: string) => quotes[Number(index)] ?? "");
}
