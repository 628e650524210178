/** The plans of the offline model for counting: files by listing, matches by searching, lines by reading. */
import type { Ask, Plan } from "./offline-plan.ts";
import type { Scope, Subject } from "./offline-scope.ts";
import {
  askForListing,
  askForSearch,
  callTool,
  findingsOf,
  listingOf,
  placeOf,
  type Notes,
} from "./offline-tasks.ts";
import { readFileText, type Coverage, type Outcome } from "./offline-prompt.ts";
import {
  amount,
  bullets,
  describeLimits,
  describeFailure,
  linesByFile,
} from "./offline-wording.ts";

/** Most files that are read in one step, and for one request. */
const filesAtOnce = 10;
const mostFiles = 50;

export function* countFiles(scope: Scope, notes: Notes): Plan {
  const where = placeOf(scope);
  const outcome = yield* callTool(
    `I list every file ${where} and count them.`,
    askForListing(scope, true),
  );
  const listing = listingOf(outcome);
  if (listing === undefined) return describeFailure(`count the files ${where}`, outcome);
  notes.found = listing.entries;
  const least = listing.cut === undefined ? "" : "at least ";
  const verb = listing.entries.length === 1 ? "is" : "are";
  return `There ${verb} ${least}${amount(listing.entries.length, "file")} ${where}.${describeLimits(listing)}`;
}

export function* countMatches(subject: Subject, notes: Notes): Plan {
  const what = subject.regex ? `/${subject.query}/` : `"${subject.query}"`;
  const where = placeOf(subject);
  const outcome = yield* callTool(
    `I search for ${what} ${where} and count what I find.`,
    askForSearch(subject),
  );
  const findings = findingsOf(outcome);
  if (findings === undefined) return describeFailure(`count ${what}`, outcome);
  const files = linesByFile(findings);
  notes.found = [...files.keys()];
  const least = findings.cut === undefined ? "" : "at least ";
  return `${what} is on ${least}${amount(findings.matches.length, "line")} of ${least}${amount(files.size, "file")} ${where}.${describeLimits(findings)}`;
}

export function* countLines(scope: Scope, notes: Notes): Plan {
  if (scope.pattern === undefined && /\.\w+$/.test(scope.path)) {
    return yield* countLinesOf([scope.path], {}, notes);
  }
  const where = placeOf(scope);
  const outcome = yield* callTool(
    `I need the files ${where} before I can count their lines.`,
    askForListing(scope, true),
  );
  const listing = listingOf(outcome);
  if (listing === undefined) return describeFailure(`list the files ${where}`, outcome);
  if (listing.entries.length === 0)
    return `There are no files ${where}, so there are no lines.${describeLimits(listing)}`;
  return yield* countLinesOf(listing.entries, listing, notes);
}

/** Reads the first line of each file; the result includes the number of lines. */
export function* countLinesOf(files: readonly string[], coverage: Coverage, notes: Notes): Plan {
  const read = files.slice(0, mostFiles);
  const outcomes: Outcome[] = [];
  for (let from = 0; from < read.length; from += filesAtOnce) {
    const asks = read.slice(from, from + filesAtOnce).map(askForLineCount);
    const part = ` (files ${from + 1} to ${from + asks.length} of ${read.length})`;
    const thought = `I read the files to count their lines${read.length > filesAtOnce ? part : ""}.`;
    outcomes.push(...(yield { thought, asks }));
  }
  notes.found = read;

  let total = 0;
  const items: string[] = [];
  const failures: string[] = [];
  for (const [index, outcome] of outcomes.entries()) {
    const path = read[index] ?? "";
    const file = outcome.kind === "answered" ? readFileText(outcome.output) : undefined;
    if (file?.totalLines === undefined) {
      failures.push(describeFailure(`count the lines of ${path}`, outcome));
    } else {
      items.push(`${path}: ${amount(file.totalLines, "line")}`);
      total += file.totalLines;
    }
  }
  const answers: string[] = [];
  if (items.length === 1) answers.push(...items);
  if (items.length > 1) {
    answers.push(
      `${amount(total, "line")} in ${amount(items.length, "file")}:\n\n${bullets(items)}`,
    );
  }
  answers.push(...failures);
  const left = files.length - read.length;
  if (left > 0)
    answers.push(`I left out ${amount(left, "further file")}: ask about a smaller folder.`);
  return answers.join("\n\n") + describeLimits(coverage);
}

function askForLineCount(path: string): Ask {
  return { toolName: "read_file", input: { path, startLine: 1, endLine: 1 } };
}
