/**
 * The offline model as the writer of a summary: it is recognised by what it is shown, the headings
 * are those that it is told, and what stands below them is taken from the conversation. Pure.
 */

/** What is to be summarised, as the prompt shows it. */
export interface SummaryTask {
  readonly headings: readonly string[];
  readonly previous: string;
  readonly conversation: string;
}

/** How long a line may be, and how many stand below a heading. */
const LINE_LENGTH = 120;
const MOST_LINES = 8;

/** What the instructions and the message ask to be summarised; undefined when they ask something else. */
export function summaryTask(instructions: string, asked: string): SummaryTask | undefined {
  const headings = [...instructions.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading ?? "");
  const conversation = within(asked, "conversation");
  if (headings.length === 0 || conversation === undefined) return undefined;
  return { headings, previous: within(asked, "previous-summary") ?? "", conversation };
}

/** The summary: each heading with what is known for it, newest last, and `none` where there is nothing. */
export function summaryOf({ headings, previous, conversation }: SummaryTask): string {
  const before = sections(previous);
  const requests = said(conversation, "USER: ");
  const news = new Map<string, readonly string[]>([
    ["goal", requests],
    ["state", [...said(conversation, "CALL of "), ...said(conversation, "ASSISTANT: ")]],
    ["files", paths(conversation)],
    ["next", requests.slice(-1)],
  ]);
  return headings
    .map((heading) => {
      const key = [...news.keys()].find((word) => heading.toLowerCase().startsWith(word)) ?? "";
      // What comes next is no longer what it was.
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

/** First lines of what somebody said, each as a point of a list. */
function said(conversation: string, who: string): readonly string[] {
  return conversation
    .split("\n")
    .filter((line) => line.startsWith(who))
    .map((line) => point(line.slice(who.length)));
}

/** What the calls of the conversation were about, by path. */
function paths(conversation: string): readonly string[] {
  const named = [...conversation.matchAll(/^CALL of .*?"(?:path|file)":"([^"]+)"/gm)];
  return named.map(([, path]) => point(path ?? ""));
}

function point(text: string): string {
  const line = text.trim();
  return `- ${line.length > LINE_LENGTH ? `${line.slice(0, LINE_LENGTH - 1)}…` : line}`;
}

/** The points below each heading of an earlier summary. */
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
