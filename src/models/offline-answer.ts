/** Decides the next move of the offline model. Requests in one message are answered one after another. Pure. */
import { countFiles, countLines, countLinesOf, countMatches } from "./offline-counts.ts";
import { follow, type Move, type Plan } from "./offline-plan.ts";
import type { Exchange, Situation } from "./offline-prompt.ts";
import { requestsIn, type OfflineRequest } from "./offline-request.ts";
import {
  findingsOf,
  listFiles,
  listingOf,
  readFile,
  searchFiles,
  writeFile,
  type Notes,
} from "./offline-tasks.ts";
import { summaryOf, summaryTask } from "./offline-summary.ts";
import { linesByFile, bullets, describeExchanges } from "./offline-wording.ts";

export function decide(situation: Situation): Move {
  const summary = summaryTask(situation.instructions, situation.asked);
  if (summary !== undefined) return { kind: "answer", text: summaryOf(summary) };
  return follow(answerAll(situation), situation.since, situation.offered);
}

function* answerAll(situation: Situation): Plan {
  const { asked, attachments, offered, earlier } = situation;
  const notes: Notes = { offered, found: filesOf(earlier) };
  const answers: string[] = [];
  const unknown: string[] = [];
  if (attachments > 0) answers.push("I cannot look at attached files; I go by the words.");
  const requests = requestsIn(asked);
  for (const request of requests) {
    if (request.kind === "unknown") unknown.push(`"${shorten(request.text)}"`);
    else answers.push(yield* answerOne(request, situation, notes));
  }
  if (unknown.length > 0) answers.push(`I do not understand ${shorten(unknown.join(", "))}.`);
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
      return yield* listFiles(request, request.recursive, notes);
    case "read":
      return yield* readFile(request.path, request.range, notes);
    case "read-found": {
      const path = notes.found.at(request.which);
      if (path === undefined) return noneFound;
      return yield* readFile(path, {}, notes);
    }
    case "search":
      return yield* searchFiles(request, notes);
    case "count-matches":
      return yield* countMatches(request, notes);
    case "count-files":
      return yield* countFiles(request, notes);
    case "count-lines":
      return yield* countLines(request, notes);
    case "count-lines-found":
      return notes.found.length === 0 ? noneFound : yield* countLinesOf(notes.found, {}, notes);
    case "write":
      return yield* writeFile(request.path, request.text, notes);
    case "explain":
      return describeExchanges([...situation.earlier, ...situation.since]);
    case "help":
      return describeAbilities(situation.offered);
  }
}

const noneFound =
  "No file has come up yet that I could take. Name one, or ask me to list or search first.";

const abilities: Readonly<Record<string, string>> = {
  list_files: 'list files: "list the files in src", "how many markdown files are there?"',
  read_file: 'read a file: "read package.json", "how many lines does README.md have?"',
  search_files: 'search for text: "which files mention zod?", "search for /import .*/ in src"',
  write_file: 'write a file: "write "hello" to notes.txt"',
};

function describeAbilities(offered: ReadonlySet<string>): string {
  const able = Object.entries(abilities).filter(([name]) => offered.has(name));
  const items = [...able.map(([, words]) => words), 'explain what I did: "what did you do?"'];
  return `I am the offline model: no network, a handful of requests. I can:\n\n${bullets(items)}`;
}

function shorten(text: string): string {
  return text.length > 80 ? `${text.slice(0, 80)}…` : text;
}

/** The files of the latest call that found any. */
function filesOf(exchanges: readonly Exchange[]): readonly string[] {
  for (const { toolName, input, outcome } of exchanges.toReversed()) {
    if (outcome.kind !== "answered") continue;
    const listing = listingOf(outcome);
    if (listing !== undefined) return listing.entries.filter((entry) => !entry.endsWith("/"));
    const findings = findingsOf(outcome);
    if (findings !== undefined) return [...linesByFile(findings).keys()];
    const named =
      typeof input === "object" && input !== null && "path" in input ? input.path : undefined;
    if (toolName.endsWith("_file") && typeof named === "string") return [named];
  }
  return [];
}
