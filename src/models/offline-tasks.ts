/** The plans of the offline model for listing, reading, searching and writing. */
import type { Ask, Plan } from "./offline-plan.ts";
import type { LineRange } from "./offline-request.ts";
import type { Scope, Subject } from "./offline-scope.ts";
import {
  readFileText,
  readFindings,
  readListing,
  type Findings,
  type Listing,
  type Outcome,
} from "./offline-prompt.ts";
import {
  amount,
  describeFailure,
  describeFile,
  describeFindings,
  describeListing,
  linesByFile,
} from "./offline-wording.ts";

export interface Notes {
  readonly offered: ReadonlySet<string>;
  /** The files of the last answer, for "the first one" and "it". */
  found: readonly string[];
}

export function* callTool(
  thought: string,
  ask: Ask,
): Generator<{ thought: string; asks: readonly Ask[] }, Outcome, readonly Outcome[]> {
  const [outcome] = yield { thought, asks: [ask] };
  return outcome ?? { kind: "failed", message: "no result of this call is known" };
}

/** The searched files in words: "in src among **\/*.ts". */
export function placeOf({ path = ".", pattern }: Partial<Scope>): string {
  const place = path === "." ? "in this folder" : `in ${path}`;
  return pattern === undefined ? place : `${place} among ${pattern}`;
}

export function askForListing({ path, pattern }: Scope, recursive: boolean): Ask {
  return {
    toolName: "list_files",
    input: { path, recursive, limit: 2000, ...(pattern !== undefined && { pattern }) },
  };
}

export function askForSearch({ query, regex, path, pattern }: Subject): Ask {
  return {
    toolName: "search_files",
    input: {
      query,
      regex,
      ignoreCase: !regex,
      limit: 1000,
      ...(path !== undefined && { path }),
      ...(pattern !== undefined && { pattern }),
    },
  };
}

export function* listFiles(scope: Scope, recursive: boolean, notes: Notes): Plan {
  const where = placeOf(scope);
  const outcome = yield* callTool(`I list what is ${where}.`, askForListing(scope, recursive));
  const listing = listingOf(outcome);
  if (listing === undefined) return describeFailure(`list what is ${where}`, outcome);
  notes.found = listing.entries.filter((entry) => !entry.endsWith("/"));
  return describeListing(listing, where);
}

export function* searchFiles(subject: Subject, notes: Notes): Plan {
  const what = subject.regex ? `/${subject.query}/` : `"${subject.query}"`;
  const where = placeOf(subject);
  const outcome = yield* callTool(`I search for ${what} ${where}.`, askForSearch(subject));
  const findings = findingsOf(outcome);
  if (findings === undefined) return describeFailure(`search for ${what}`, outcome);
  notes.found = [...linesByFile(findings).keys()];
  return describeFindings(findings, what, where);
}

export function* readFile(path: string, range: LineRange, notes: Notes): Plan {
  const outcome = yield* callTool(`I read ${path}.`, {
    toolName: "read_file",
    input: { path, ...range },
  });
  if (
    outcome.kind !== "failed" ||
    !namesNothing(outcome.message) ||
    !notes.offered.has("list_files")
  ) {
    return tellFile(path, outcome, notes);
  }
  // "The readme" is not a path: look for a file with a similar name.
  const listed = yield* callTool(
    `There is no ${path}. I list the files to see whether one is called something like it.`,
    askForListing({ path: "." }, true),
  );
  const listing = listingOf(listed);
  const meant = listing && closest(path, listing.entries);
  if (meant === undefined) return describeFailure(`read ${path}`, outcome);
  const second = yield* callTool(`${meant} must be the one that is meant.`, {
    toolName: "read_file",
    input: { path: meant, ...range },
  });
  return tellFile(meant, second, notes);
}

export function* writeFile(path: string, text: string, notes: Notes): Plan {
  const ask = { toolName: "write_file", input: { path, text } };
  const outcome = yield* callTool(`I write ${amount(text.length, "character")} to ${path}.`, ask);
  if (outcome.kind !== "answered") return describeFailure(`write ${path}`, outcome);
  notes.found = [path];
  return `I wrote ${amount(text.length, "character")} to ${path}.`;
}

export function listingOf(outcome: Outcome): Listing | undefined {
  return outcome.kind === "answered" ? readListing(outcome.output) : undefined;
}

export function findingsOf(outcome: Outcome): Findings | undefined {
  return outcome.kind === "answered" ? readFindings(outcome.output) : undefined;
}

function tellFile(path: string, outcome: Outcome, notes: Notes): string {
  const file = outcome.kind === "answered" ? readFileText(outcome.output) : undefined;
  if (file === undefined) return describeFailure(`read ${path}`, outcome);
  notes.found = [path];
  return describeFile(path, file);
}

function namesNothing(message: string): boolean {
  return /does not exist|no such|not found|ENOENT/i.test(message);
}

/** The file with the most similar name: equal, then with the same beginning, then containing it. */
function closest(words: string, entries: readonly string[]): string | undefined {
  const wanted = nameOf(words);
  const ranks: readonly ((name: string) => boolean)[] = [
    (name) => name === wanted,
    (name) => name.startsWith(`${wanted}.`),
    (name) => name.startsWith(wanted),
    (name) => name.includes(wanted),
  ];
  const files = entries
    .filter((entry) => !entry.endsWith("/"))
    .toSorted((a, b) => a.split("/").length - b.split("/").length);
  for (const fits of ranks) {
    const entry = files.find((file) => fits(nameOf(file)));
    if (entry !== undefined) return entry;
  }
  return undefined;
}

function nameOf(path: string): string {
  return (path.split("/").at(-1) ?? path).toLowerCase();
}
