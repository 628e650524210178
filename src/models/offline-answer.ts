/** Decides the next move of the offline model. Requests in one message are answered one after another. Pure. */
import { cutShort } from "../events/index.ts";
import { follow, type Move, type Plan } from "./offline-plan.ts";
import {
  readFileText,
  readFindings,
  readListing,
  type Exchange,
  type Outcome,
  type Situation,
} from "./offline-prompt.ts";
import { requestsIn, type OfflineRequest, type Scope } from "./offline-request.ts";
import { summaryOf, summaryTask } from "./offline-summary.ts";
import {
  amount,
  bullets,
  describeExchanges,
  describeFailure,
  describeFile,
  describeFindings,
  describeListing,
  describeProject,
  linesByFile,
} from "./offline-wording.ts";

export function decide(situation: Situation): Move {
  const summary = summaryTask(situation.instructions, situation.asked);
  if (summary !== undefined) return { kind: "answer", text: summaryOf(summary) };
  const move = follow(answerAll(situation), situation.since, situation.offered);
  const { said } = situation;
  if (move.kind !== "answer" || said === "" || !move.text.startsWith(said)) return move;
  return { kind: "answer", text: move.text.slice(said.length) };
}

/** The files of the last answer, for "the first one" and "it". */
interface Notes {
  found: readonly string[];
}

function* answerAll(situation: Situation): Plan {
  const { asked, attachments, offered, earlier } = situation;
  const notes: Notes = { found: filesOf(earlier) };
  const answers: string[] = [];
  const unknown: string[] = [];
  if (attachments > 0) answers.push("I cannot look at attached files; I go by the words.");
  const requests = requestsIn(asked);
  for (const request of requests) {
    if (request.kind === "unknown") unknown.push(`"${shorten(request.text)}"`);
    else answers.push(yield* answerOne(request, situation, notes));
  }
  if (unknown.length > 0)
    answers.push(
      `I do not understand ${shorten(unknown.join(", "))}. That takes a real model (--model in the terminal).`,
    );
  if (unknown.length > 0 || requests.length === 0) answers.push(describeAbilities(offered));
  return answers.join("\n\n");
}

function* answerOne(
  request: Exclude<OfflineRequest, { kind: "unknown" }>,
  situation: Situation,
  notes: Notes,
): Plan {
  switch (request.kind) {
    case "list":
      return yield* listFiles(request, notes);
    case "read":
      return yield* readFile(request.path, situation, notes);
    case "read-found": {
      const path = notes.found.at(request.which);
      if (path !== undefined) return yield* readFile(path, situation, notes);
      return "No file has come up yet that I could take. Name one, or ask me to list or search first.";
    }
    case "search":
      return yield* searchFiles(request, notes);
    case "write":
      return yield* writeFile(request, notes);
    case "project":
      return yield* tellProject(notes);
    case "explain":
      return describeExchanges([...situation.earlier, ...situation.since]);
    case "help":
      return describeAbilities(situation.offered);
  }
}

type Of<Kind> = Extract<OfflineRequest, { readonly kind: Kind }>;

function* listFiles({ recursive, ...scope }: Of<"list">, notes: Notes): Plan {
  const where = placeOf(scope);
  const outcome = yield {
    thought: `I list what is ${where}.`,
    toolName: "list_files",
    input: listing(scope, recursive),
  };
  const found = answerOf(outcome, readListing);
  if (found === undefined) return describeFailure(`list what is ${where}`, outcome);
  notes.found = found.entries.filter((entry) => !entry.endsWith("/"));
  return describeListing(found, where);
}

function* searchFiles({ query, regex, path, pattern }: Of<"search">, notes: Notes): Plan {
  const what = regex ? `/${query}/` : `"${query}"`;
  const scope = { ...(path !== undefined && { path }), ...(pattern !== undefined && { pattern }) };
  const where = placeOf(scope);
  const outcome = yield {
    thought: `I search for ${what} ${where}.`,
    toolName: "search_files",
    input: { query, regex, ignoreCase: !regex, limit: 1000, ...scope },
  };
  const findings = answerOf(outcome, readFindings);
  if (findings === undefined) return describeFailure(`search for ${what}`, outcome);
  notes.found = [...linesByFile(findings).keys()];
  return describeFindings(findings, what, where);
}

function* readFile(path: string, { offered }: Situation, notes: Notes): Plan {
  const read = (thought: string, name: string) => ({
    thought,
    toolName: "read_file",
    input: { path: name },
  });
  let name = path;
  let outcome = yield read(`I read ${path}.`, path);
  const names = outcome.kind !== "failed" || !/does not exist|not found/i.test(outcome.message);
  if (!names && offered.has("list_files")) {
    // "The readme" is not a path: look for a file whose name begins so.
    const listed = yield {
      thought: `There is no ${path}. I list the files to see whether one is called something like it.`,
      toolName: "list_files",
      input: listing({ path: "." }, true),
    };
    const meant = answerOf(listed, readListing)?.entries.find((entry) => isLike(entry, path));
    if (meant !== undefined) {
      name = meant;
      outcome = yield read(`${meant} must be the one that is meant.`, meant);
    }
  }
  const file = answerOf(outcome, readFileText);
  if (file === undefined) return describeFailure(`read ${name}`, outcome);
  notes.found = [name];
  return describeFile(name, file);
}

function* writeFile({ path, text }: Of<"write">, notes: Notes): Plan {
  const size = amount(text.length, "character");
  const outcome = yield {
    thought: `I write ${size} to ${path}.`,
    toolName: "write_file",
    input: { path, text },
  };
  if (outcome.kind !== "answered") return describeFailure(`write ${path}`, outcome);
  notes.found = [path];
  return `I wrote ${size} to ${path}.`;
}

/** What the README says first, and what is in the folder. */
function* tellProject(notes: Notes): Plan {
  const where = placeOf({});
  const outcome = yield {
    thought: "I look for a README, which should say it.",
    toolName: "list_files",
    input: listing({ path: "." }, false),
  };
  const top = answerOf(outcome, readListing);
  if (top === undefined) return describeFailure(`list what is ${where}`, outcome);
  const readme = top.entries.find((entry) => isLike(entry, "readme"));
  if (readme === undefined)
    return `There is no README ${where}, so I cannot say what it is for. ${describeListing(top, where)}`;
  const read = yield {
    thought: `${readme} should say it.`,
    toolName: "read_file",
    input: { path: readme },
  };
  const file = answerOf(read, readFileText);
  if (file === undefined) return describeFailure(`read ${readme}`, read);
  notes.found = [readme];
  return describeProject(readme, file, top);
}

function answerOf<Value>(
  outcome: Outcome,
  read: (output: unknown) => Value | undefined,
): Value | undefined {
  return outcome.kind === "answered" ? read(outcome.output) : undefined;
}

function listing({ path, pattern }: Scope, recursive: boolean): Readonly<Record<string, unknown>> {
  return { path, recursive, limit: 2000, ...(pattern !== undefined && { pattern }) };
}

/** The searched files in words: "in src among **\/*.ts". */
function placeOf({ path = ".", pattern }: Partial<Scope>): string {
  const place = path === "." ? "in this folder" : `in ${path}`;
  return pattern === undefined ? place : `${place} among ${pattern}`;
}

function isLike(entry: string, words: string): boolean {
  const name = entry.split("/").at(-1)?.toLowerCase() ?? "";
  return name.startsWith(words.split("/").at(-1)?.toLowerCase() ?? words) && !entry.endsWith("/");
}

const abilities: Readonly<Record<string, string>> = {
  list_files: 'list files: "list the files in src", "how many markdown files are there?"',
  read_file: 'read a file: "read package.json", "what does this project do?"',
  search_files: 'search for text: "which files mention zod?", "search for /import .*/ in src"',
  write_file: 'write a file: "write "hello" to notes.txt"',
};

function describeAbilities(offered: ReadonlySet<string>): string {
  const able = Object.entries(abilities).filter(([name]) => offered.has(name));
  const items = [...able.map(([, words]) => words), 'explain what I did: "what did you do?"'];
  return `I am the offline model: no network, a handful of requests. I can:\n\n${bullets(items)}`;
}

function shorten(text: string): string {
  return cutShort(text, 80);
}

/** The files of the latest call that found any. */
function filesOf(exchanges: readonly Exchange[]): readonly string[] {
  for (const { toolName, input, outcome } of exchanges.toReversed()) {
    const listed = answerOf(outcome, readListing);
    if (listed !== undefined) return listed.entries.filter((entry) => !entry.endsWith("/"));
    const findings = answerOf(outcome, readFindings);
    if (findings !== undefined) return [...linesByFile(findings).keys()];
    const named =
      typeof input === "object" && input !== null && "path" in input ? input.path : undefined;
    if (outcome.kind === "answered" && toolName.endsWith("_file") && typeof named === "string")
      return [named];
  }
  return [];
}
