/** The offline model writes a summary: under the request's headings, lines of the conversation. Pure. */

import { textStart } from "../events/index.ts";

export interface SummaryTask {
  readonly headings: readonly string[];
  readonly previous: string;
  readonly conversation: string;
}

/** Most characters of a line, and most lines below a heading. */
const LINE_LENGTH = 120;
const MOST_LINES = 8;

/** The request for a summary in a prompt; undefined for any other prompt. */
export function summaryTask(instructions: string, asked: string): SummaryTask | undefined {
  const headings = [...instructions.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading ?? "");
  const conversation = within(asked, "conversation");
  if (headings.length === 0 || conversation === undefined) return undefined;
  return { headings, previous: within(asked, "previous-summary") ?? "", conversation };
}

/** The summary: each heading with its lines, newest last, or `none`. */
export function summaryOf({ headings, previous, conversation }: SummaryTask): string {
  const before = sections(previous);
  const requests = linesOf(conversation, "USER: ");
  const news = new Map<string, readonly string[]>([
    ["goal", requests],
    ["state", [...linesOf(conversation, "CALL of "), ...linesOf(conversation, "ASSISTANT: ")]],
    ["files", paths(conversation)],
    ["next", requests.slice(-1)],
  ]);
  return headings
    .map((heading) => {
      const key = [...news.keys()].find((word) => heading.toLowerCase().startsWith(word)) ?? "";
      // The next steps of the earlier summary are out of date.
      const old = key === "next" ? [] : (before.get(heading) ?? []);
      const lines = [...new Set([...old, ...(news.get(key) ?? [])])];
      const kept =
        lines.length > MOST_LINES ? [...lines.slice(0, 4), ...lines.slice(4 - MOST_LINES)] : lines;
      return `## ${heading}\n${kept.length === 0 ? "none" : kept.join("\n")}`;
    })
    .join("\n\n");
}

function within(text: string, tag: string): string | undefined {
  const from = text.indexOf(`<${tag}>\n`);
  const to = text.lastIndexOf(`\n</${tag}>`);
  return from === -1 || to < from ? undefined : text.slice(from + tag.length + 3, to);
}

function linesOf(conversation: string, prefix: string): readonly string[] {
  return conversation
    .split("\n")
    .filter((line) => line.startsWith(prefix))
    .map((line) => point(line.slice(prefix.length)));
}

function paths(conversation: string): readonly string[] {
  const named = [...conversation.matchAll(/^CALL of .*?"(?:path|file)":"([^"]+)"/gm)];
  return named.map(([, path]) => point(path ?? ""));
}

function point(text: string): string {
  const line = text.trim();
  return `- ${line.length > LINE_LENGTH ? `${textStart(line, LINE_LENGTH - 1)}…` : line}`;
}

/** The list items below each heading of an earlier summary. */
function sections(summary: string): ReadonlyMap<string, readonly string[]> {
  const found = new Map<string, readonly string[]>();
  for (const section of summary.split(/^## /m).slice(1)) {
    const [heading = "", ...lines] = section.split("\n");
    found.set(
      heading.trim(),
      lines.filter((line) => line.startsWith("- ")),
    );
  }
  return found;
}
