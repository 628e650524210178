/**
 * Decides what the offline model does next: the first word of a message says which of four tools it calls, and
 * any other message is answered as not understood. Pure.
 */
import type {
  LanguageModelV4CallOptions,
  LanguageModelV4Message,
  LanguageModelV4Prompt,
  LanguageModelV4ToolResultOutput,
} from "@ai-sdk/provider";
import { z } from "zod";
import { cutShort } from "../events/index.ts";

type Call =
  | {
      readonly toolName: "list_files";
      readonly input: {
        readonly path: string;
        readonly recursive: boolean;
        readonly limit: number;
        readonly pattern?: string;
      };
    }
  | { readonly toolName: "read_file"; readonly input: { readonly path: string } }
  | {
      readonly toolName: "search_files";
      readonly input: {
        readonly query: string;
        readonly regex: boolean;
        readonly ignoreCase: boolean;
        readonly limit: number;
        readonly path?: string;
      };
    }
  | {
      readonly toolName: "write_file";
      readonly input: { readonly path: string; readonly text: string };
    };

export type Move =
  | ({ readonly kind: "call"; readonly thought: string } & Call)
  | { readonly kind: "answer"; readonly text: string };

/** Messages that were sent together are answered one after the other, each with at most one call. */
export function decide(options: LanguageModelV4CallOptions): Move {
  const situation = readSituation(options);
  const { asked, offered, said } = situation;
  const summary = summaryOf(situation.instructions, asked.join("\n"));
  if (summary !== undefined) return { kind: "answer", text: summary };
  const unused = [...situation.since];
  const answers = situation.hasFiles ? ["I cannot look at attached files; I go by the words."] : [];
  for (const text of asked.length === 0 ? [""] : asked) {
    const call = callFor(text);
    if (call === undefined) {
      answers.push(notUnderstood(text, situation));
      continue;
    }
    const index = unused.findIndex(({ toolName }) => toolName === call.toolName);
    const [made] = index === -1 ? [] : unused.splice(index, 1);
    if (made !== undefined) answers.push(describeOutcome(call, made));
    else if (offered.has(call.toolName))
      return { kind: "call", thought: `I ${deedOf(call)}.`, ...call };
    else
      answers.push(
        `I could not ${deedOf(call)}: it takes ${call.toolName}, a tool I am not offered.`,
      );
  }
  const text = answers.join("\n\n");
  return { kind: "answer", text: text.startsWith(said) ? text.slice(said.length) : text };
}

/** Words that a person adds to a request. */
const FILLER =
  /^(?:(?:me|the|this|all|every|of|contents?|files?|lines?|for|that|mention|contain|use)(?:\s+|$))+/i;
/** The place at the end of a request: "in src", "in the src folder". */
const PLACE = /(?:^|\s+)in (?:the )?(\S+)(?: folder)?$/i;

/** The call that the first word of a message asks for. */
function callFor(message: string): Call | undefined {
  const [, verb = "", rest = ""] = /^(\S+)\s*([^]*?)[\s.?!]*$/.exec(message) ?? [];
  const [ending = "", place] = PLACE.exec(rest) ?? [];
  const subject = unquoted(rest.slice(0, rest.length - ending.length).replace(FILLER, ""));
  switch (verb.toLowerCase()) {
    case "list":
    case "ls": {
      const named = place ?? (subject === "" ? "." : subject);
      const isPattern = named.includes("*");
      const recursive = isPattern || /^(?:all|every)\b/i.test(rest);
      const scope = isPattern ? { path: ".", pattern: named } : { path: named };
      return { toolName: "list_files", input: { ...scope, recursive, limit: 2000 } };
    }
    case "read":
    case "open":
    case "show":
    case "cat":
      return /^\S+$/.test(subject)
        ? { toolName: "read_file", input: { path: subject } }
        : undefined;
    case "search":
    case "find":
    case "grep":
    case "which": {
      if (subject === "") return undefined;
      const expression = /^\/(.+)\/$/.exec(subject)?.[1];
      const regex = expression !== undefined;
      const query = { query: expression ?? subject, regex, ignoreCase: !regex, limit: 1000 };
      return {
        toolName: "search_files",
        input: { ...query, ...(place !== undefined && { path: place }) },
      };
    }
    case "write": {
      const [, text, path] = /^([^]+) to (\S+)$/.exec(rest) ?? [];
      if (text === undefined || path === undefined) return undefined;
      return { toolName: "write_file", input: { path, text: unquoted(text) } };
    }
    default:
      return undefined;
  }
}

function unquoted(text: string): string {
  return /^(["'`])([^]*)\1$/.exec(text)?.[2] ?? text;
}

/** A call in words that complete "I could not …". */
function deedOf(call: Call): string {
  switch (call.toolName) {
    case "list_files":
      return `list what is ${placeOf(call)}`;
    case "read_file":
      return `read ${call.input.path}`;
    case "search_files":
      return `search for ${queryOf(call)} ${placeOf(call)}`;
    case "write_file":
      return `write ${amount(call.input.text.length, "character")} to ${call.input.path}`;
  }
}

function placeOf({ input }: Extract<Call, { toolName: "list_files" | "search_files" }>): string {
  if ("pattern" in input) return `in this folder among ${input.pattern}`;
  return input.path === undefined || input.path === "." ? "in this folder" : `in ${input.path}`;
}

function queryOf({ input }: Extract<Call, { toolName: "search_files" }>): string {
  return input.regex ? `/${input.query}/` : `"${input.query}"`;
}

const abilities = [
  ["list_files", 'list files: "list src", "list all files", "list **/*.md"'],
  ["read_file", 'read a file: "read package.json"'],
  ["search_files", 'search for text: "search zod in src", "which files mention zod?"'],
  ["write_file", 'write a file: "write hello to notes.txt"'],
] as const;

function notUnderstood(text: string, { offered, earlier, since }: Situation): string {
  const able = abilities.filter(([name]) => offered.has(name)).map(([, words]) => words);
  const calls = [...earlier, ...since].map(({ toolName, input }) =>
    cutShort(`${toolName} ${JSON.stringify(input)}`, 120),
  );
  return [
    `I am the offline model: no network, and I go by the first word of a message. ${
      /\bwhat can you do\b/i.test(text)
        ? "The rest takes a real model."
        : `I do not understand "${cutShort(text.replaceAll(/\s+/g, " "), 80)}". That takes a real model (--model in the terminal).`
    }`,
    ...(able.length === 0
      ? [
          "I can list, read, search and write files with the tools of the terminal; none is offered here.",
        ]
      : ["I can:", bullets(able)]),
    ...(calls.length === 0
      ? []
      : [`I called ${amount(calls.length, "tool")} so far:`, bullets(calls)]),
  ].join("\n\n");
}

function describeOutcome(call: Call, { output }: Exchange): string {
  const failed = (why: string) => `I could not ${deedOf(call)}: ${why}`;
  if (output === undefined) return failed("no result of this call is known.");
  switch (output.type) {
    case "execution-denied":
      return `I was not allowed to ${deedOf(call)}${output.reason ? `: ${output.reason}` : "."}`;
    case "error-text":
      return failed(output.value.replace(/^\w*Error: /, ""));
    case "error-json":
      return failed(JSON.stringify(output.value));
    default:
      return (
        describeAnswer(call, output.value) ??
        failed(
          `the tool answered in a form that I do not know: ${cutShort(JSON.stringify(output.value), 200)}`,
        )
      );
  }
}

const coverage = { passedOver: z.array(z.string()).default([]), cut: z.string().optional() };
const listing = z.object({ entries: z.array(z.string()), ...coverage });
const fileText = z.object({ text: z.string(), totalLines: z.number().optional(), ...coverage });
const findings = z.object({
  matches: z.array(z.object({ file: z.string(), line: z.number() })),
  ...coverage,
});

/** Undefined for a form that is not known. */
function describeAnswer(call: Call, value: unknown): string | undefined {
  switch (call.toolName) {
    case "list_files": {
      const found = listing.safeParse(value).data;
      return found && listingInWords(placeOf(call), found);
    }
    case "read_file": {
      const file = fileText.safeParse(typeof value === "string" ? { text: value } : value).data;
      return file && fileInWords(call.input.path, file);
    }
    case "search_files": {
      const found = findings.safeParse(value).data;
      return found && findingsInWords(`${queryOf(call)} ${placeOf(call)}`, found);
    }
    case "write_file":
      return `I wrote ${amount(call.input.text.length, "character")} to ${call.input.path}.`;
  }
}

function listingInWords(where: string, found: z.infer<typeof listing>): string {
  const { entries } = found;
  if (entries.length === 0) return `There is nothing ${where}.${limitsOf(found)}`;
  const hasFolders = entries.some((entry) => entry.endsWith("/"));
  const count = hasFolders
    ? amount(entries.length, "entry", "entries")
    : amount(entries.length, "file");
  return `There ${entries.length === 1 ? "is" : "are"} ${count} ${where}:\n\n${bullets(entries)}${limitsOf(found)}`;
}

/** Markdown is quoted, and everything else is code. */
function fileInWords(path: string, file: z.infer<typeof fileText>): string {
  if (file.text === "") return `${path} is empty.`;
  const lines = file.text.split("\n");
  const shown = lines.slice(0, MOST_ITEMS);
  const size = file.totalLines === undefined ? "" : ` (${amount(file.totalLines, "line")} in all)`;
  const body = path.endsWith(".md") ? shown.map((line) => `> ${line}`) : ["```", ...shown, "```"];
  const rest = lines.length - shown.length;
  const more =
    rest > 0 ? `\n\nI read ${amount(rest, "further line")} that I do not repeat here.` : "";
  return `${path}${size} says:\n\n${body.join("\n")}${more}${limitsOf(file)}`;
}

function findingsInWords(what: string, found: z.infer<typeof findings>): string {
  const files = Map.groupBy(found.matches, ({ file }) => file);
  if (files.size === 0) return `I found no mention of ${what}.${limitsOf(found)}`;
  const items = [...files].map(([file, matches]) => {
    const lines = matches.slice(0, 8).map(({ line }) => line);
    return `${file} (${matches.length === 1 ? "line" : "lines"} ${lines.join(", ")}${matches.length > 8 ? ", …" : ""})`;
  });
  const mention = files.size === 1 ? "file mentions" : "files mention";
  return `${files.size.toLocaleString("en-US")} ${mention} ${what}, on ${amount(found.matches.length, "line")}:\n\n${bullets(items)}${limitsOf(found)}`;
}

/** What the tool left out. */
function limitsOf({ passedOver, cut }: { passedOver: string[]; cut?: string | undefined }): string {
  const notes = passedOver.length === 0 ? [] : [`The tool passed over ${passedOver.join(", ")}.`];
  if (cut !== undefined) notes.push(`This is not everything: ${cut}`);
  return notes.length === 0 ? "" : `\n\n${notes.join(" ")}`;
}

const MOST_ITEMS = 60;

function bullets(items: readonly string[]): string {
  const shown = items.slice(0, MOST_ITEMS).map((item) => `- ${item}`);
  const rest = items.length - shown.length;
  return (rest > 0 ? [...shown, `- … and ${rest.toLocaleString("en-US")} more`] : shown).join("\n");
}

/** A count with its noun: "1 file", "3 files". */
function amount(count: number, one: string, many = `${one}s`): string {
  return `${count.toLocaleString("en-US")} ${count === 1 ? one : many}`;
}

/** The summary that a compaction asks for: the user's messages under the first heading, and nothing below the others. */
function summaryOf(instructions: string, asked: string): string | undefined {
  const headings = instructions.match(/^## .+$/gm);
  const conversation = /<conversation>\n([^]*)\n<\/conversation>/.exec(asked)?.[1];
  if (headings === null || conversation === undefined) return undefined;
  const before = /<previous-summary>\n([^]*)\n<\/previous-summary>/.exec(asked)?.[1] ?? "";
  const lines = [
    ...(before.match(/^- .+$/gm) ?? []),
    ...[...conversation.matchAll(/^USER: (.+)$/gm)].map(
      ([, text = ""]) => `- ${cutShort(text, 120)}`,
    ),
  ];
  const goals = lines.length > 8 ? [...lines.slice(0, 4), ...lines.slice(-4)] : lines;
  return headings
    .map((heading, index) => {
      const below = index === 0 && goals.length > 0 ? goals.join("\n") : "none";
      return `${heading}\n${below}`;
    })
    .join("\n\n");
}

// Reads the call options of the offline model: what is asked, the calls since and before, the offered tools. Pure.

interface Exchange {
  readonly toolName: string;
  readonly input: unknown;
  /** Undefined if no result of the call is known. */
  readonly output: LanguageModelV4ToolResultOutput | undefined;
}

interface Situation {
  /** The text of the system messages. */
  readonly instructions: string;
  /** The texts of the last user message; several if messages were sent together. */
  readonly asked: readonly string[];
  /** The beginning of the answer that was cut off, if the model is asked to continue it. */
  readonly said: string;
  /** Whether there are files, which this model cannot read. */
  readonly hasFiles: boolean;
  /** The calls before the last user message. */
  readonly earlier: readonly Exchange[];
  /** The calls since the last user message. */
  readonly since: readonly Exchange[];
  readonly offered: ReadonlySet<string>;
}

/** A text file of a message. */
const FILE = /^<file name=.*>\n[^]*\n<\/file>$/;

/** Asks for the rest of a reply that was cut off. */
const GO_ON = /^\[.*\bGo on from where it stopped\.\]$/;

/** A note of turnlog about the session. It is in the user's role, and the user did not write it. */
const NOTE = /^\[(?:The user took back what came|The time for this turn is up)\b[^]*\]$/;

function readSituation(options: LanguageModelV4CallOptions): Situation {
  const whole = options.prompt.filter(
    (message) => message.role !== "user" || !textsOf(message).every((text) => NOTE.test(text)),
  );
  const isCut = textsOf(whole.at(-1)).some((text) => GO_ON.test(text));
  const prompt = isCut ? whole.slice(0, -1) : whole;
  const last = prompt.findLastIndex(({ role }) => role === "user");
  const first = prompt.slice(0, last + 1).findLastIndex(({ role }) => role !== "user") + 1;
  const messages = prompt.slice(first, last + 1);
  const texts = messages.flatMap((message) => textsOf(message));
  const parts = messages.reduce((sum, { content }) => sum + content.length, 0);
  const asked = texts.filter((text) => !FILE.test(text) && !NOTE.test(text) && text.trim() !== "");
  return {
    instructions: prompt.flatMap((one) => (one.role === "system" ? [one.content] : [])).join("\n"),
    asked: asked.map((text) => text.trim()),
    said: isCut ? textsOf(prompt.at(-1)).join("") : "",
    hasFiles: parts > texts.length || texts.some((text) => FILE.test(text)),
    earlier: exchangesOf(prompt.slice(0, first)),
    since: exchangesOf(prompt.slice(last + 1)),
    offered: offeredTools(options),
  };
}

function textsOf(message: LanguageModelV4Prompt[number] | undefined): readonly string[] {
  if (message === undefined || message.role === "system" || message.role === "tool") return [];
  return message.content.flatMap((part) => (part.type === "text" ? [part.text] : []));
}

function offeredTools({ tools = [], toolChoice }: LanguageModelV4CallOptions): ReadonlySet<string> {
  const names = tools.filter((tool) => tool.type === "function").map(({ name }) => name);
  if (toolChoice?.type === "none") return new Set();
  const only = toolChoice?.type === "tool" ? toolChoice.toolName : undefined;
  return new Set(names.filter((name) => only === undefined || name === only));
}

type CallPart = Extract<LanguageModelV4Message, { role: "assistant" | "tool" }>["content"][number];

function exchangesOf(prompt: LanguageModelV4Prompt): readonly Exchange[] {
  const parts = prompt.flatMap((message): readonly CallPart[] =>
    message.role === "assistant" || message.role === "tool" ? message.content : [],
  );
  const results = parts.filter((part) => part.type === "tool-result");
  return parts.flatMap((part) => {
    if (part.type !== "tool-call") return [];
    // Later steps may use a call id again: each call takes the next result with its id.
    const index = results.findIndex(({ toolCallId }) => toolCallId === part.toolCallId);
    const [result] = index === -1 ? [] : results.splice(index, 1);
    return [{ toolName: part.toolName, input: part.input, output: result?.output }];
  });
}
