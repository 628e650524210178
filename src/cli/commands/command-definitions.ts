/** Defines the commands: their names, descriptions, arguments and options. What runs each is loaded when it is called. */

import { Argument, InvalidArgumentError, Option } from "commander";
import type { LoadedCommand } from "./loaded-command.ts";
import {
  acpOptions,
  chatOptions,
  forkOptions,
  initOptions,
  mcpServerOptions,
  rerunOptions,
  rewindOptions,
  serveOptions,
  studioOptions,
  tell,
  at,
  billOptions,
  compareOptions,
  limit,
  logOptions,
  replayOptions,
  showOptions,
  verifyOptions,
  copyOptions,
  deleteOptions,
  exportOptions,
  importOptions,
  printsSql,
  redactOptions,
} from "./command-options.ts";
import { atLeastOne, position, positionRange } from "./option-values.ts";
import type { CommandRow, Taken } from "./give-command.ts";
import { sessionCommandTable } from "./session-command-table.ts";

export function addCommands(program: LoadedCommand): void {
  addChatCommands(program);
  addLookCommands(program);
  addSessionCommands(program);
  addKeepCommands(program);
}

/** Those that run an agent, or go to another place of a session. */
function addChatCommands(program: LoadedCommand): void {
  program
    .command("chat", { isDefault: true })
    .description("ask an agent about this folder, in one message or a conversation")
    .argument(
      "[message...]",
      "the message; if absent, it comes from a pipe or is typed in a terminal",
    )
    .addHelpText("after", chatHelp)
    .does(chatOptions, async ({ demo }) =>
      demo ? (await import("./demo-command.ts")).demo : (await import("./chat-command.ts")).chat,
    );

  program
    .command("init")
    .description("make a folder with an agent and its test, and if you like with a chat page")
    .argument("[folder]", "the folder", "my-agent")
    .does(initOptions, async () => (await import("./init-command.ts")).init);

  program
    .command("serve")
    .description("serve the sessions of the store over HTTP, for pages and programs")
    .addHelpText("after", serveHelp)
    .does(serveOptions, async () => (await import("./serve-command.ts")).serve);

  program
    .command("mcp-server")
    .description("let the clients of the Model Context Protocol ask the agent: editors, desktops")
    .addHelpText(
      "after",
      "\nA client starts it and speaks with it by standard input and output; docs/mcp-server.md has the lines\nfor its configuration. It ends with the client; its turns resume when it is started again.",
    )
    .does(mcpServerOptions, async () => (await import("./mcp-server-command.ts")).mcpServer);

  program
    .command("acp")
    .description(
      "serve an editor that starts this command, by the Agent Client Protocol over stdio",
    )
    .addHelpText("after", acpHelp)
    .does(acpOptions, async () => (await import("./acp-command.ts")).acp);

  program
    .command("studio")
    .description(
      "open the studio in a browser: read sessions, walk through their time, act on them",
    )
    .addHelpText("after", "\nThe printed address signs in one browser, once, within ten minutes.")
    .does(studioOptions, async () => (await import("./studio-command.ts")).studio);

  program
    .command("rerun")
    .description(
      "run a session's last turn again, live and in a fork, from its beginning or from a step",
    )
    .argument("<session>", "its id")
    .does(rerunOptions, async () => (await import("./chat-command.ts")).rerun);

  program
    .command("fork")
    .description("create a session that shares another's events up to a position; runs nothing")
    .argument("<session>", "its id")
    .does(forkOptions, async () => (await import("./branch-commands.ts")).fork);

  program
    .command("rewind")
    .description("go back to the end of an earlier turn, on a new branch; runs nothing")
    .argument("<session>", "its id")
    .addHelpText("after", rewindHelp)
    .does(rewindOptions, async () => (await import("./branch-commands.ts")).rewind);

  program
    .command("checkout")
    .description(
      "return to another branch of a session, in the state in which it was left; runs nothing",
    )
    .argument("<session>", "its id")
    .argument("<branch>", "the number of the branch, as `turnlog branches` lists it", atLeastOne)
    .does([tell], async () => (await import("./branch-commands.ts")).checkout);
}

const serveHelp = `
The first line says the address and where the token is. Each request is a line; --json prints all of
it as JSON. SIGTERM and Ctrl-C end streams and turns, and close the store. /openapi.json describes
the routes.`;

const acpHelp = `
The editor's sessions are those of the store, and several editors and terminals may use it at once:
the process that has it open answers all. Stdout has the protocol alone. docs/editors.md has the
settings of editors. Needs the package @agentclientprotocol/sdk.`;

const rewindHelp = `
Nothing is deleted: what is left stays in the log, on its branch. 'turnlog branches <id>' lists the
branches, and 'turnlog checkout <id> <branch>' returns to one. Effects of calls are not undone.`;

const chatHelp = `
Models: OPENAI_API_KEY, GOOGLE_GENERATIVE_AI_API_KEY or ANTHROPIC_API_KEY selects that provider;
without a key the offline model answers. --model names any of openai, openai-responses, google;
ollama, lmstudio, llamacpp, vllm on this machine; and alibaba, anthropic, cerebras, cohere, deepseek,
groq, mistral, moonshotai, perplexity, xai, if @ai-sdk/<provider> is installed and <PROVIDER>_API_KEY
is set (MOONSHOT_API_KEY for moonshotai). <creator>/<model> asks the gateway of the AI SDK
(AI_GATEWAY_API_KEY); <address>#<model> a server that is compatible with OpenAI, without a key.
OPENAI_BASE_URL names one for openai:<model>, with OPENAI_API_KEY as its key; it is called by chat
completions, and by openai-responses:<model> by the other protocol.

Further variables: MODEL is the default of --model; INSTRUCTIONS replaces the agent's instructions;
CONTEXT_STRATEGY=threshold|overflow|manual and CONTEXT_COMPACTION_THRESHOLD=0.8, a share of the
window, say when the conversation is compacted.

In a conversation you can type while the agent works: Enter queues, Tab steers, Esc or Ctrl-C
cancels. Type /help there for all keys and commands.

In a typed message, @<path> attaches a file and @<address> one from the web. --attach does the same
on the command line.

The agent's tools see this folder and nothing outside it. --allow-write adds write_file: in a
terminal each write needs your approval; without a terminal the option itself is the consent.

--mcp "npx -y @modelcontextprotocol/server-everything" adds the tools of a server, as
everything__echo; --mcp-config reads { "mcpServers": { name: { command, args, env } | { url,
headers } } }. In a terminal their calls need your approval, unless the tool only reads.

--json prints every event of the turn with its session, one per line. With a single message, Ctrl-C
cancels the turn, and a second one leaves.
Exit codes: 0 done, 1 error, 2 wrong usage, 130 cancelled, 143 ended from outside.`;

/** Those that read sessions and change nothing. */
function addLookCommands(program: LoadedCommand): void {
  program
    .command("sessions")
    .description("list the sessions of the store, newest first")
    .does([limit], async () => (await import("./sessions-command.ts")).sessions);

  program
    .command("show")
    .description("show a session now or at a position; runs nothing")
    .argument("<session>", "its id")
    .does(showOptions, async () => (await import("./show-command.ts")).show);

  program
    .command("branches")
    .description("list the branches of a session, oldest first; * marks the active one")
    .argument("<session>", "its id")
    .does([], async () => (await import("./branch-commands.ts")).branches);

  program
    .command("context")
    .description("show the size and the parts of a session's next prompt")
    .argument("<session>", "its id")
    .does([at], async () => (await import("./figure-commands.ts")).context);

  program
    .command("bill")
    .description("show what a session paid and for what, or what all sessions paid")
    .argument("[session]", "its id (default: all sessions of the store)")
    .does(billOptions, async () => (await import("./figure-commands.ts")).bill);

  program
    .command("diff")
    .description("compare the prompts at two positions of a session, or two sessions by step")
    .argument("<session>", "its id")
    .argument("<before>", "a position, counted from 1; without <after>: another session")
    .argument("[after]", "another position", position)
    .does([], async () => (await import("./diff-command.ts")).diff);

  program
    .command("log")
    .description("print the events of all sessions in the order in which they were written")
    .does(logOptions, async () => (await import("./show-command.ts")).showLog);

  program
    .command("verify")
    .description("check one session, or all, against the laws; exit code 1 if one is broken")
    .argument("[session]", "its id (default: every session of the store)")
    .does(verifyOptions, async () => (await import("./upkeep-commands.ts")).verify);

  program
    .command("replay")
    .description("show a session again as in the chat, or check that its agent repeats it")
    .argument("<session>", "its id")
    .does(replayOptions, async () => (await import("./replay-command.ts")).replaySession);

  program
    .command("compare")
    .description(
      "try a changed agent on recorded sessions: its model is called, its tools answer from the recording",
    )
    .argument("[session...]", "their ids")
    .addHelpText("after", compareHelp)
    .does(compareOptions, async () => (await import("./compare-command.ts")).compareSessions);
}

const compareHelp = `
The agent as it was recorded is the one of --agent without --model and --instructions: it must repeat
the recording. No tool runs but those of --live. Models are called and cost money: see --budget.
Exit codes: 0 if nothing is worse or stopped, 1 otherwise, 2 wrong usage, 130 interrupted.`;

/** Those that import, export, delete and maintain. */
function addKeepCommands(program: LoadedCommand): void {
  program
    .command("export")
    .description("write a session as JSON Lines: a header, then one event per line")
    .usage("[options] <session>")
    .argument("[session...]", "its id")
    .does(exportOptions, async () => (await import("./exchange-commands.ts")).exportTo);

  program
    .command("import")
    .description("bring a session from a file into the store, completely or not at all")
    .argument("<file>", "an export, or a JSON array of messages; - is stdin")
    .does(importOptions, async () => (await import("./exchange-commands.ts")).importFrom);

  program
    .command("delete")
    .description("delete a session permanently, or all old ones; its id cannot be used again")
    .argument("[session]", "its id")
    .does(deleteOptions, async () => (await import("./erasing-commands.ts")).deleteAny);

  program
    .command("redact")
    .description("redact positions of an encrypted session permanently: erase their keys")
    .argument("<session>", "its id")
    .argument("<positions...>", "positions, or ranges like 12-20", positionRange)
    .does(redactOptions, async () => (await import("./erasing-commands.ts")).redact);

  program
    .command("backup")
    .description("copy the store into an empty folder, and check the copy")
    .argument("<folder>", "the folder of the copy; created if missing")
    .does([], async () => (await import("./upkeep-commands.ts")).backup);

  program
    .command("copy")
    .description(
      "copy all sessions between a folder and a database, exactly; run it again to continue",
    )
    .does(copyOptions, async () => (await import("./upkeep-commands.ts")).copy);

  program
    .command("postgres")
    .description("create the tables of the database of --postgres")
    .addArgument(new Argument("<work>", "what to do").choices(["migrate"]))
    .does([printsSql], async () => (await import("./upkeep-commands.ts")).migrateDatabase);

  program
    .command("rotate-keys")
    .description("wrap the keys of encrypted sessions with the master key in TURNLOG_MASTER_KEY")
    .does([], async () => (await import("./upkeep-commands.ts")).rotateKeys);

  program
    .command("gc")
    .description(
      "delete media that no session refers to, such as a killed process may leave behind",
    )
    .does([], async () => (await import("./upkeep-commands.ts")).collectGarbage);

  program
    .command("repair")
    .description("repair a damaged store as far as possible, and report what is lost")
    .does([], async () => (await import("./upkeep-commands.ts")).repair);
}

// The commands of a session that the terminal gives as the catalogue has them: arguments become words, the fields of
// options become flags. Their names and their help are those of a generated table: `--help` loads no zod.

const group = "Commands that a session takes:";

function addSessionCommands(program: LoadedCommand): void {
  for (const row of sessionCommandTable) {
    const command = program
      .command(dashed(row.name))
      .description(row.what)
      .helpGroup(group)
      .argument("<session>", "its id");
    for (const { name, kind, isOptional } of row.takes) {
      if (typeof kind === "object") continue;
      const word = dashed(name);
      command.argument(isOptional ? `[${word}]` : `<${word}>`, "", parserOf(kind));
    }
    command.does(row.takes.flatMap(flagsOf), async (options) => {
      const { giveCommand } = await import("./give-command.ts");
      return () => giveCommand(row, command.processedArgs, options, command.output);
    });
  }
}

/** `set-title` */
function dashed(name: string): string {
  return name.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`);
}

function flagsOf({ kind }: CommandRow["takes"][number]): readonly Option[] {
  if (typeof kind !== "object") return [];
  return Object.entries(kind).map(([name, { kind: value, what }]) => {
    const long = `--${dashed(name)}`;
    if (value === "flag") return new Option(long, what);
    const option = new Option(`${long} <${value === "json" ? "json" : "value"}>`, what);
    return typeof value === "object" ? option.choices(value) : option.argParser(parserOf(value));
  });
}

function parserOf(kind: Taken): (text: string) => unknown {
  return (text) => {
    if (kind === "text") return text;
    try {
      const value: unknown = JSON.parse(text);
      if (kind === "json" || typeof value === "number") return value;
    } catch {
      // It is refused below.
    }
    throw new InvalidArgumentError(`It is not ${kind === "json" ? "JSON" : "a number"}.`);
  };
}
