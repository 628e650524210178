/** The options of each command: their text in the help, and the type of what the command gets. */

import { Option } from "commander";
import {
  atLeastOne,
  collect,
  metadataValue,
  option,
  position,
  positions,
  pace,
  positiveNumber,
  renamed,
  someText,
  speakingPace,
  step,
  wholeNumber,
  type Typed,
} from "./option-values.ts";

const model = option(
  "--model <model>",
  "<provider>:<model>, like openai:gpt-6-astra; <creator>/<model> at the gateway of the AI SDK; <address>#<model>; or offline",
);
const instructions = option("--instructions <file>", "a file with instructions for the agent");
export const agentOptions = [
  model,
  option("--allow-write", "let the agent write files in this folder"),
  option("--mcp <command>", "an MCP server: its command, or its address (repeatable)", collect),
  option("--mcp-config <file>", 'MCP servers from a file: { "mcpServers": { … } }'),
  option(
    "--durability <kind>",
    "what stored events survive: a power cut (sync), or the end of the process (os)",
    ["sync", "os"],
    "sync",
  ),
  option("--hash-chain", "record a chain of digests, so that verify detects any change"),
  option(
    "--pace <pace>",
    "how fast the offline model speaks: human, at-once, or a multiple of human speed (default: human in a terminal, otherwise at-once)",
    speakingPace,
  ),
] as const;
export const chatOptions = [
  option("--session <id>", "continue a session, or begin one with this id"),
  option("-c, --continue", "continue the session that was used last").conflicts("session"),
  option("--demo", "a half-minute tour, without a key: the process is killed mid-word and resumes"),
  option("--demo-folder <folder>", "").hideHelp(),
  option(
    "--attach <file>",
    "attach a file to the message, by path or address (repeatable)",
    collect,
  ),
  option("--quiet", "do not ring the terminal's bell when a long turn ends or asks"),
  ...agentOptions,
] as const;
/** Of commands whose agent answers others. */
export const servedAgentOptions = [
  option("--agent <module>", "the agent: a module that exports it as agent or as default"),
  ...agentOptions,
] as const;
export const mcpServerOptions = [
  option("--name <name>", "the name of the agent's tool (default: the agent's id, or agent)"),
  option("--description <text>", "what the agent is for: a client's model chooses the tool by it"),
  ...servedAgentOptions,
] as const;
const token: Typed<{ readonly token?: string | false }> = new Option(
  "--token <token>",
  "the token that requests must send (default: one kept in the store's folder)",
);
export const serveOptions = [
  option("--port <n>", "the port; 0 takes a free one", wholeNumber, 4400),
  option("--host <address>", "the address to listen at", String, "127.0.0.1"),
  token.env("TURNLOG_TOKEN").argParser(someText),
  new Option(
    "--no-token",
    "let in every program on this machine; works only with the machine's own address",
  ),
  option(
    "--hosts <name>",
    "a host name under which clients reach the server (repeatable)",
    collect,
  ),
  option(
    "--leave-turns",
    "at the start, continue all turns that the previous process left at SIGTERM",
  ).default(false),
  option("--origins <origin>", "a site whose pages may use the server (repeatable)", collect),
  ...servedAgentOptions,
] as const;
export const acpOptions = [
  option("--offer <model>", "a model that the editor may choose (repeatable)", collect),
  ...servedAgentOptions,
] as const;
export const pages = ["vite", "next", "none"] as const;
export const initOptions = [
  option("--page <kind>", "a chat page: by Vite, by Next.js, or none", pages),
  option("--database", "keep the page's sessions in PostgreSQL, which compose.yaml starts"),
  option("--ci", "run the test on GitHub"),
  option("--yes", "do not ask: make only what the other options name"),
] as const;
export const studioOptions = [
  option("--session <id>", "the session to open"),
  option("--demo", "open a temporary store with sessions to look at"),
  option("--agent <module>", "the agent: a module that exports it; without it nothing can run"),
  option("--port <n>", "the port; 0 takes a free one", wholeNumber, 4401),
  option("--no-open", "only print the address"),
] as const;
const forkId = option("--id <id>", "the fork's id (default: a new one)");
const agentModule = option(
  "--agent <module>",
  "the agent: a module that exports it as agent or as default (default: the chat's agent)",
);
export const rerunOptions = [
  option("--step <n>", "the step to begin with, counted from 1", step),
  option("--position <n>", "a position in the middle of a turn", position),
  forkId,
  renamed("--as <id>", "--id"),
  agentModule,
  instructions,
  ...agentOptions,
] as const;
export const forkOptions = [
  option("--position <n>", "the last shared position (default: the end)", position),
  forkId,
  renamed("--as <id>", "--id"),
  agentModule,
  instructions,
  model,
] as const;
export const tell = option(
  "--tell",
  "tell the model which calls of the turns that are left had run",
);
export const rewindOptions = [
  option("--to <n>", "the last position to keep, counted from 1", position),
  option("--before-turn <n>", "go back to before a turn, counted from 1", atLeastOne),
  option("--before-message <id>", "go back to before the turn of a message"),
  tell,
] as const;

export const limit = option("--limit <n>", "list only the newest n (default: all)", atLeastOne);
export const at = option(
  "--position <n>",
  "the position, counted from 1 (default: the last)",
  position,
);
export const billOptions = [
  option(
    "--by <names>",
    "what to sum by: day, actor, agent, model, purpose, subAgent, tenant or keys of the metadata, with commas",
  ),
  option("--since <date|days>", "the first UTC day: 2026-10-01, or 30d for 30 days ago"),
  option("--until <date|days>", "the last UTC day"),
  option(
    "--where <key=value>",
    "only calls with this value; key:=json for other values than texts (repeatable)",
    metadataValue,
  ),
  option("--csv", "print the sums as CSV"),
  option("--position <n>", "of one session: up to this position (default: the last)", position),
  option(
    "--without <n>",
    "what if: without the compaction or pruning at a position (repeatable)",
    positions,
  ),
  option("--caching <how>", "what if: with the provider's cache on, or off", ["on", "off"]),
  option("--model <model>", "what if: at the prices of another model, <provider>:<model>"),
  renamed("--as <model>", "--model"),
] as const;
export const showOptions = [
  at,
  option(
    "--view <view>",
    "what to show",
    ["events", "history", "prompt", "state", "usage", "timeline"],
    "history",
  ),
  option("--step <n>", "one step of the timeline, or the prompt that it sent", step),
  option("--full", "show long values in full"),
  option("--follow", "also show what is written later (views events and history); Ctrl-C ends"),
] as const;
export const logOptions = [
  option("--session <id>", "only the events of one session"),
  option("--from <n>", "the first global position, counted from 1", position),
  option("--follow", "also print later events; Ctrl-C ends"),
] as const;
export const verifyOptions = [
  option("--every <n>", "compare states at every n-th position (default: 16 of them)", atLeastOne),
  option(
    "--chain <position:digest>",
    "the end of the session's hash chain, as you noted it earlier",
  ),
] as const;
const allow: Typed<{ readonly allow?: readonly ("instructions" | "tool-descriptions")[] }> =
  new Option("--allow <what...>", "what may differ in a check");
export const replayOptions = [
  option("--pace <pace>", "at-once, recorded, or a factor of the recorded speed", pace, "at-once"),
  option("--max-gap <seconds>", "the longest wait between two events", positiveNumber),
  option("--check", "run the agent against the recording; exit code 1 if anything differs"),
  option(
    "--agent <module>",
    "the agent to check: a module that exports it (default: the chat's agent)",
  ),
  allow.choices(["instructions", "tool-descriptions"]),
] as const;

const allowed: Typed<{
  readonly allow?: readonly (
    | "instructions"
    | "tool-descriptions"
    | "model"
    | "settings"
    | "text"
  )[];
}> = new Option(
  "--allow <what...>",
  "what may differ and count as equal (--model and --instructions may)",
);
export const compareOptions = [
  option(
    "--where <key=value>",
    "instead of names: sessions with this in their metadata, or with this agent= or actor=; key:=json for other values than texts (repeatable)",
    metadataValue,
  ),
  option(
    "--since <date|days>",
    "instead of names: sessions with an event since: 2026-10-01, or 7d",
  ),
  option(
    "--file <file>",
    "instead of names: an exported session or a fixture (repeatable)",
    collect,
  ),
  agentModule,
  model,
  instructions,
  option(
    "--on-miss <what>",
    "what a call gets that the recording cannot answer: the run stops there, or a model answers in the tool's place",
    ["stop", "simulate"],
  ),
  option("--live <tool>", "a tool that is really run for such a call (repeatable)", collect),
  option("--simulate-model <model>", "the model that answers (default: the candidate's)"),
  option("--runs <n>", "runs for each session, for models that vary", atLeastOne, 1),
  option("--budget <dollars>", "the most to spend on model calls", positiveNumber),
  option("--concurrency <n>", "runs at a time (default: 4)", atLeastOne),
  option("--experiment <name>", "its name in the report and in --results"),
  option(
    "--results <folder>",
    "keep the candidate's sessions in this store, so that a second call resumes a first one that was stopped",
  ),
  option("--out <file>", "write the report as one page of HTML"),
  option("--junit <file>", "write it as JUnit XML"),
  allowed.choices(["instructions", "tool-descriptions", "model", "settings", "text"]),
] as const;

export const exportOptions = [
  option("--out <file>", "the file (default: stdout)"),
  option("--encrypted", "export an encrypted session that shares no events as it is stored"),
  option(
    "--fixture [file]",
    "write a test fixture: short ids, times from a fixed start, and no secrets",
  ),
  option("--redact <regex>", "redact further matches in a fixture (repeatable)", collect),
  option("--blobs <folder>", "write media into this folder (default: into the file)"),
] as const;
export const importOptions = [
  option(
    "--from <kind>",
    "what the file has: a session, or messages of the AI SDK, OpenAI or Anthropic (auto: as it looks)",
    ["auto", "session", "model-messages", "ui-messages", "openai", "anthropic"],
    "auto",
  ),
  renamed("--as <id>", "--id"),
  option(
    "--id <id>",
    "the session's id (default: its own id; messages need one, and several talks get <id>-1, <id>-2 …)",
  ),
  option(
    "--metadata <key=value>",
    "of the sessions that messages become, to choose them by; key:=json for other values than texts (repeatable)",
    metadataValue,
  ),
  option("--no-verify", "import even if it breaks a law or its media are missing"),
  option("--blobs <folder>", "the folder with media that are not in the file"),
] as const;
const yes = option("--yes", "do not ask (required without a terminal)");
export const deleteOptions = [
  option(
    "--older-than <date|days>",
    "instead of one session: all without an event since a date (2026-10-01) or in the last 30d",
  ),
  option(
    "--where <key=value>",
    "instead of one session: all with this in their metadata; key:=json for other values than texts (repeatable)",
    metadataValue,
  ),
  option("--dry-run", "with --older-than or --where: print what would be deleted"),
  yes,
  option("--cancel", "also delete sessions in a turn, and those in which messages wait"),
  option(
    "--forks <what>",
    "if forks share its events: refuse, or copy the events first",
    ["refuse", "copy"],
    "refuse",
  ),
] as const;
export const redactOptions = [
  option("--reason <text>", "the reason, for readers of the session"),
  yes,
] as const;
// Commander demands both.
const from: Typed<{ readonly from: string }> = new Option(
  "--from <store>",
  "the folder or the database to read",
);
const to: Typed<{ readonly to: string }> = new Option(
  "--to <store>",
  "the folder or the database to copy into",
);
export const copyOptions = [
  from.argParser(someText).makeOptionMandatory(),
  to.argParser(someText).makeOptionMandatory(),
  option("--follow", "also copy later events; Ctrl-C ends"),
] as const;
export const printsSql = option(
  "--sql",
  "print the SQL instead, for a role that may change the schema",
);
