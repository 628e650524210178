/** `docs/events.md`: every event type, from the comments of the catalogue and from recorded sessions. */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { z } from "zod";
import { eventSchemas, eventVersions, type EventMap } from "../../src/events/index.ts";
import { declarationsIn, type Declaration, type Member } from "./declarations.ts";

const root = join(import.meta.dirname, "../..");
export const eventsPath = "docs/events.md";

const families: readonly (readonly [title: string, declared: readonly string[], about: string])[] =
  [
    ["session", ["SessionFamily"], "The life of a session as a whole."],
    ["message", ["MessageFamily"], "Messages of users, from acceptance to delivery to the model."],
    ["turn", ["TurnFamily"], "From the delivery of messages until the session is idle again."],
    ["step", ["StepFamily", "PreparedFamily"], "Calls of the model."],
    ["part", ["PartFamily"], "What the model streams: the parts of the AI SDK, unchanged."],
    ["tool", ["ToolFamily"], "Calls of the agent's own tools."],
    ["context", ["ContextFamily"], "How the prompt was measured and made smaller."],
    ["prompt", ["PromptFamily"], "What requests have beside their messages."],
    ["blob", ["BlobFamily"], "Large content, which is stored outside of the log."],
  ];

/** Fields that join events, and what they name. */
const joins: Readonly<Record<string, string>> = {
  turn: "the turn, counted from 1 over the session",
  step: "the step, counted from 1 over the session",
  callId: "the call of a tool, within its step: the same as `toolCallId`",
  toolCallId: "the call of a tool, within its step: the same as `callId`",
  toolName: "the tool, by its name for the model",
  approvalId: "the question of a provider for its own call",
  effectId: "all attempts of a call, in forks too",
  child: "the session of the sub-agent that runs the call",
  ids: "messages, by the `id` of `message.queued`",
  promptDigest: "prompts that are equal have the same",
  agentDigest: "an agent, by the `digest` of its description",
  instructionsDigest: "instructions, by the `digest` of `prompt.text`",
  sha256: "a file: content that refers to it has `@blob:<sha256>`",
};

/** Of types that no recorded session has. */
const examples: { readonly [Type in keyof EventMap]?: EventMap[Type] } = {
  "blob.stored": {
    sha256: "b94d27b9…",
    mediaType: "image/png",
    bytes: 48_210,
    width: 640,
    height: 480,
  },
  "context.cut": {
    calls: [{ step: 3, callId: "call_1", head: 2_000, tail: 1_000 }],
    reader: "read_tool_output",
    savedTokens: 8_120,
  },
  "context.media-omitted": { before: 41, there: [], media: 2, savedBytes: 1_204_224 },
  "context.reduced": { step: 4, rung: "as-text", to: 52 },
  "part.raw": { rawValue: { type: "ping" } },
  "part.tool-approval-request": { approvalId: "mcpr_1", toolCallId: "call_1" },
  "prompt.configured": { settings: { temperature: 0.2 } },
  "prompt.text": { digest: "8e49fcf7…", text: "Be brief." },
  "session.chained": { digest: "5f3c0a91…" },
  "session.forked": { from: { session: "trip", position: 120 } },
  "session.metadata-set": { metadata: { userId: "u-1" } },
  "session.redacted": { ranges: [{ from: 12, to: 14 }], by: "ann" },
  "session.rewound": { to: 57, branch: 1, by: "ann" },
  "session.seen": { by: "ann", turn: 3 },
  "session.thinned": { drop: "reasoning", spans: [{ from: 4, to: 9 }] },
  "session.titled": { title: "A journey to Ulm", by: "ann" },
  "step.failed-over": {
    step: 2,
    attempt: 3,
    from: { provider: "anthropic", modelId: "claude-opus-5-5" },
    to: { provider: "openai.responses", modelId: "gpt-6-astra" },
    why: "overloaded",
  },
  "step.prepared": { turn: 1, step: 2, overrides: { toolChoice: "required" } },
  "tool.output-requested": { step: 1, callId: "call_1", toolName: "whereAmI" },
  "turn.allowed": { turn: 2, dollars: 1, by: "ann" },
  "turn.held": { turn: 2, budget: { of: "session", unit: "dollars", limit: 5, spent: 4.98 } },
};

const row = z.tuple([z.string(), z.number(), z.number(), z.unknown()]);

/** The shortest recorded data of each type. */
function recordedData(): ReadonlyMap<string, string> {
  const shortest = new Map<string, string>();
  for (const file of globSync("fixtures/sessions/*.jsonl", { cwd: root }).toSorted()) {
    for (const line of readFileSync(join(root, file), "utf8").trimEnd().split("\n")) {
      const [type, , , data] = row.parse(JSON.parse(line));
      const text = JSON.stringify(data, shortened);
      const known = shortest.get(type);
      if (known === undefined || text.length < known.length) shortest.set(type, text);
    }
  }
  return shortest;
}

/** A stack says where the recording ran, and a digest is long. */
function shortened(key: string, value: unknown): unknown {
  if (key === "stack") return undefined;
  if (typeof value !== "string") return value;
  if (/^[0-9a-f]{64}$/.test(value)) return `${value.slice(0, 8)}…`;
  return value.length > 60 ? `${value.slice(0, 59)}…` : value;
}

/** @throws Error that names each type and field without a comment */
export function eventsPage(): string {
  const declared = declarationsIn("src/events/{catalogue,values}/*.ts");
  const recorded = recordedData();
  const silent: string[] = [];
  const fieldsOf = new Map<string, readonly Member[]>();
  /** The types that fields have, in the order in which the page needs them. */
  const named = new Set<string>();

  function typeCell(type: string): string {
    const names = [...type.matchAll(/\b[A-Z]\w+/g)].map(([name]) => name);
    const linked = names.filter((name) => declared(name) !== undefined);
    for (const name of linked) named.add(name);
    const text = `\`${type.replaceAll("|", "\\|")}\``;
    const [only] = linked;
    return only === type ? `[${text}](#${only.toLowerCase()})` : text;
  }

  function table(owner: string, members: readonly Member[]): string {
    if (members.length === 0) return "";
    const rows = members.map(({ name, isOptional, type, comment }) => {
      const said = comment || sentence(joins[name] ?? "") || (declared(type)?.comment ?? "");
      if (said === "" && owner.includes(".")) silent.push(`${owner}: ${name}`);
      const cell = said.replaceAll("|", "\\|");
      return `| \`${name}${isOptional ? "?" : ""}\` | ${typeCell(type)} | ${cell} |\n`;
    });
    return `\n| field | type | |\n|---|---|---|\n${rows.join("")}`;
  }

  function eventSection({ name, comment, type, fields }: Member): string {
    if (comment === "") silent.push(name);
    const own = fields();
    fieldsOf.set(name, own);
    const version = Object.entries(eventVersions).find(([of]) => of === name)?.[1];
    const isWhole = own.length > 0 && !/\bReduction\b/.test(type);
    const example =
      Object.entries(examples).find(([of]) => of === name)?.[1] ?? recorded.get(name) ?? "";
    if (example === "") silent.push(`${name}: an example`);
    return `
### \`${name}\`

${comment}${version === undefined ? "" : ` Version ${version}.`}
${isWhole ? "" : `\nData: ${typeCell(type)}.\n`}${table(name, own)}
\`\`\`json
${typeof example === "string" ? example : JSON.stringify(example)}
\`\`\`
`;
  }

  const sections = families.map(([title, names, about]) => {
    const events = names.flatMap((name) => declared(name)?.members ?? []);
    return `\n## ${title}\n\n${about}\n${events.map(eventSection).join("")}`;
  });
  const missing = Object.keys(eventSchemas).filter((type) => !fieldsOf.has(type));
  const types = new Map<string, string>();
  for (const name of named) {
    const found = declared(name);
    if (found !== undefined) types.set(name, typeSection(name, found));
  }
  function typeSection(name: string, { comment, members, text }: Declaration): string {
    const said = comment === "" ? "" : `\n${comment}\n`;
    const form = members.length > 0 ? table(name, members) : `\n${typeCell(text)}\n`;
    return `\n### ${name}\n${said}${form}`;
  }
  if (silent.length + missing.length > 0)
    throw new Error(`The catalogue does not explain: ${[...missing, ...silent].join("; ")}`);
  const joined = Object.entries(joins).map(([field, what]) => {
    const having = [...fieldsOf].filter(([, own]) => own.some(({ name }) => name === field));
    return `| \`${field}\` | ${what} | ${having.map(([type]) => `\`${type}\``).join(", ")} |\n`;
  });
  return `# Events

Made from the source by \`npm run reference\`. \`turnlog show <id> --view events --json\`, \`session.events()\` and \`log.read(id)\` have the events of a session ([to the end, or forever](cookbook.md#read-the-events-to-the-end)).

Each event is an object with \`position\` (it counts from 1 in each session and has no gaps), \`time\` (milliseconds since 1970, UTC), \`type\`, \`data\`, and an \`id\` if a program gave it one. An event is never changed. A later release may add types and fields: skip what you do not know. A type of a later release is read as \`unknown\`, and your own begin with \`app.\` ([your events](your-events.md)). A field with \`?\` may be absent. Names that end in \`Ms\` are milliseconds, in \`Tokens\` tokens, in \`Bytes\` bytes. In the examples, \`…\` stands for the rest of a text.

## What joins events

A \`part.*\` event belongs to the step that runs: the last \`step.started\` before it.

| field | names | in |
|---|---|---|
${joined.join("")}${sections.join("")}
## Types
${[...types.values()].join("")}`;
}

function sentence(text: string): string {
  return text === "" ? "" : `${(text[0] ?? "").toUpperCase()}${text.slice(1)}.`;
}
