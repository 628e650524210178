/** Describes the results of tools in the answers of the offline model. Pure. */
import { cutShort } from "../events/index.ts";
import {
  readFileText,
  readFindings,
  readListing,
  type Coverage,
  type FileText,
  type Findings,
  type Listing,
  type Exchange,
  type Outcome,
} from "./offline-prompt.ts";

const longestList = 60;
const mostLines = 60;

/** A count with its noun: "1 file", "3 files", "2 entries". */
export function amount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

/** A long list ends with the number of further items. */
export function bullets(items: readonly string[]): string {
  const shown = items.slice(0, longestList).map((item) => `- ${item}`);
  const rest = items.length - shown.length;
  return (rest > 0 ? [...shown, `- … and ${rest.toLocaleString("en-US")} more`] : shown).join("\n");
}

/** A paragraph about content that the tool left out; empty if it left out nothing. */
function describeLimits({ passedOver = [], cut }: Coverage): string {
  const notes: string[] = [];
  if (passedOver.length > 0) notes.push(`The tool passed over ${passedOver.join(", ")}.`);
  if (cut !== undefined) notes.push(`This is not everything: ${cut}`);
  return notes.length === 0 ? "" : `\n\n${notes.join(" ")}`;
}

export function describeListing(listing: Listing, where: string): string {
  const { entries } = listing;
  if (entries.length === 0) return `There is nothing ${where}.${describeLimits(listing)}`;
  const verb = entries.length === 1 ? "is" : "are";
  return `There ${verb} ${amountOf(entries)} ${where}:\n\n${bullets(entries)}${describeLimits(listing)}`;
}

/** "3 files", or "3 entries" with folders. */
function amountOf(entries: readonly string[]): string {
  const folders = entries.some((entry) => entry.endsWith("/"));
  return folders ? amount(entries.length, "entry", "entries") : amount(entries.length, "file");
}

export function describeFile(path: string, file: FileText): string {
  if (file.text === "") return `${path} is empty.`;
  const lines = file.text.split("\n");
  const shown = lines.slice(0, mostLines).join("\n");
  const rest = lines.length - mostLines;
  const size = file.totalLines === undefined ? "" : ` (${amount(file.totalLines, "line")} in all)`;
  const more =
    rest > 0 ? `\n\nI read ${amount(rest, "further line")} that I do not repeat here.` : "";
  return `${path}${size} says:\n\n\`\`\`\n${shown}\n\`\`\`${more}${describeLimits(file)}`;
}

/** The title and the first paragraphs of a README, as far as they are prose. */
export function describeProject(path: string, { text }: FileText, top: Listing): string {
  const blocks = text.split(/\n\s*\n/).map((block) => block.trim());
  const title = /^# +(.+)$/m.exec(text)?.[1];
  const prose = blocks
    .map((block) => block.replace(/^#.*\n?/, "").trim())
    .filter((block) => /^[\p{L}*_[]/u.test(block) && !block.startsWith("[!"))
    .slice(0, 2);
  const shown = top.entries.filter((entry) => !entry.startsWith("."));
  if (prose.length === 0) return `${path} does not say it in words that I can quote.`;
  const by = title === undefined ? `${path} says` : `${path} calls it ${title} and says`;
  const quote = prose.join("\n\n").replaceAll(/^/gm, "> ");
  return `${by}:\n\n${quote}\n\nAt its top: ${shown.slice(0, 20).join(", ")}.${describeLimits(top)}`;
}

export function linesByFile({ matches }: Findings): ReadonlyMap<string, readonly number[]> {
  const files = new Map<string, number[]>();
  for (const { file, line } of matches) {
    const lines = files.get(file);
    if (lines === undefined) files.set(file, [line]);
    else lines.push(line);
  }
  return files;
}

export function describeFindings(findings: Findings, what: string, where: string): string {
  const files = linesByFile(findings);
  if (files.size === 0) return `I found no mention of ${what} ${where}.${describeLimits(findings)}`;
  const items = [...files].map(([file, lines]) => {
    const shown = lines.slice(0, 8).join(", ");
    return `${file} (${lines.length === 1 ? "line" : "lines"} ${shown}${lines.length > 8 ? ", …" : ""})`;
  });
  const total = `${amount(files.size, "file")} ${files.size === 1 ? "mentions" : "mention"} ${what} ${where}, on ${amount(findings.matches.length, "line")}`;
  return `${total}:\n\n${bullets(items)}${describeLimits(findings)}`;
}

/** The reason for a missing answer; `deed` completes "I could not …". */
export function describeFailure(deed: string, outcome: Outcome): string {
  switch (outcome.kind) {
    case "denied":
      return `I was not allowed to ${deed}${outcome.reason ? `: ${outcome.reason}` : "."}`;
    case "failed":
      return `I could not ${deed}: ${withoutName(outcome.message)}`;
    case "answered":
      return `I could not ${deed}: the tool answered in a form that I do not know: ${excerpt(outcome.output)}`;
  }
}

export function describeExchanges(exchanges: readonly Exchange[]): string {
  if (exchanges.length === 0) return "I have not called a tool yet in this conversation.";
  const items = exchanges.map(
    ({ toolName, input, outcome }, index) =>
      `${index + 1}. ${toolName} ${excerpt(input)}: ${describeOutcome(outcome)}`,
  );
  return `I called ${amount(exchanges.length, "tool")} so far:\n\n${items.join("\n")}`;
}

function describeOutcome(outcome: Outcome): string {
  if (outcome.kind === "denied") return `was denied${outcome.reason ? ` (${outcome.reason})` : ""}`;
  if (outcome.kind === "failed") return `failed (${withoutName(outcome.message)})`;
  const listing = readListing(outcome.output);
  if (listing !== undefined) return `found ${amountOf(listing.entries)}`;
  const findings = readFindings(outcome.output);
  if (findings !== undefined) {
    return `found ${amount(findings.matches.length, "line")} in ${amount(linesByFile(findings).size, "file")}`;
  }
  const file = readFileText(outcome.output);
  if (file !== undefined) return `gave ${amount(file.text.length, "character")}`;
  return `answered ${excerpt(outcome.output)}`;
}

function excerpt(output: unknown): string {
  const text = JSON.stringify(output) ?? "nothing";
  return cutShort(text, 200);
}

/** Removes the name of an error, as in "TypeError: …". */
function withoutName(message: string): string {
  return message.replace(/^\w*Error: /, "");
}
