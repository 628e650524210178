/** Defines the commands chat, serve, rerun, fork, rewind and checkout. */

import { type Command, Option } from "commander";
import type { Runs } from "./loaded-command.ts";
import { atLeastOne, collect, position, speakingPace, step, wholeNumber } from "./option-values.ts";

export function addChatCommands(program: Command, runs: Runs): void {
  agentOptions(
    program
      .command("chat", { isDefault: true })
      .description("ask an agent about this folder, in one message or a conversation")
      .argument(
        "[message...]",
        "the message; if absent, it comes from a pipe or is typed in a terminal",
      )
      .option("--session <id>", "continue a session, or begin one with this id")
      .addOption(
        new Option("-c, --continue", "continue the session that was used last").conflicts(
          "session",
        ),
      )
      .option(
        "--demo",
        "a half-minute tour, without a key: the process is killed mid-word and resumes",
      )
      .addOption(new Option("--demo-folder <folder>").hideHelp())
      .option(
        "--attach <file>",
        "attach a file to the message, by path or address (repeatable)",
        collect,
      ),
  )
    .addHelpText("after", chatHelp)
    .action(
      runs(async ({ demo: isDemo }) =>
        isDemo === true
          ? (await import("./demo-command.ts")).demo
          : (await import("./chat-command.ts")).chat,
      ),
    );

  agentOptions(
    program
      .command("serve")
      .description("serve the sessions of the store over HTTP, for pages and programs")
      .option("--port <n>", "the port; 0 takes a free one", wholeNumber, 4400)
      .option("--host <address>", "the address to listen at", "127.0.0.1")
      .addOption(
        new Option(
          "--token <token>",
          "the token that requests must send (default: one kept in the store's folder)",
        ).env("TURNLOG_TOKEN"),
      )
      .option(
        "--no-token",
        "let in every program on this machine; works only with the machine's own address",
      )
      .option("--hosts <name>", "a host name by which the server is reached (repeatable)", collect)
      .option(
        "--leave-turns",
        "at the start, continue all turns that the previous process left at SIGTERM",
        false,
      )
      .option("--origins <origin>", "a site whose pages may use the server (repeatable)", collect)
      .option("--agent <module>", "the agent: a module that exports it as agent or as default"),
  )
    .addHelpText("after", serveHelp)
    .action(runs(async () => (await import("./serve-command.ts")).serve));

  program
    .command("studio")
    .description(
      "open the studio in a browser: read sessions, walk through their time, act on them",
    )
    .option("--session <id>", "the session to open")
    .option("--demo", "open a temporary store with sessions to look at")
    .option("--agent <module>", "the agent: a module that exports it; without it nothing can run")
    .option("--port <n>", "the port; 0 takes a free one", wholeNumber, 4401)
    .option("--no-open", "only print the address")
    .addHelpText("after", "\nThe printed address signs in one browser, once, within ten minutes.")
    .action(runs(async () => (await import("./studio-command.ts")).studio));

  agentOptions(
    program
      .command("rerun")
      .description(
        "run a session's last turn again, live and in a fork, from its beginning or from a step",
      )
      .argument("<session>", "its id")
      .option("--step <n>", "the step to begin with, counted from 1", step)
      .option("--position <n>", "a position in the middle of a turn", position)
      .option("--as <id>", "the fork's id (default: a new one)"),
  ).action(runs(async () => (await import("./chat-command.ts")).rerun));

  program
    .command("fork")
    .description("create a session that shares another's events up to a position; runs nothing")
    .argument("<session>", "its id")
    .option("--position <n>", "the last shared position (default: the end)", position)
    .option("--as <id>", "the fork's id (default: a new one)")
    .action(runs(async () => (await import("./fork-command.ts")).fork));

  program
    .command("rewind")
    .description("go back to the end of an earlier turn, on a new branch; runs nothing")
    .argument("<session>", "its id")
    .option("--to <n>", "the last position to keep, counted from 1", position)
    .option("--before-turn <n>", "go back to before a turn, counted from 1", atLeastOne)
    .option("--before-message <id>", "go back to before the turn of a message")
    .option("--tell", "tell the model which calls of the turns that are left had run")
    .addHelpText("after", rewindHelp)
    .action(runs(async () => (await import("./rewind-command.ts")).rewind));

  program
    .command("checkout")
    .description(
      "return to another branch of a session, in the state in which it was left; runs nothing",
    )
    .argument("<session>", "its id")
    .argument("<branch>", "the number of the branch, as `turnlog branches` lists it", atLeastOne)
    .option("--tell", "tell the model which calls of the turns that are left had run")
    .action(runs(async () => (await import("./rewind-command.ts")).checkout));
}

function agentOptions(command: Command): Command {
  return command
    .option(
      "--model <model>",
      "<provider>:<model>, like openai:gpt-6-astra; <creator>/<model> at the gateway of the AI SDK; <address>#<model>; or offline",
    )
    .option("--allow-write", "let the agent write files in this folder")
    .option("--mcp <command>", "an MCP server: its command, or its address (repeatable)", collect)
    .option("--mcp-config <file>", 'MCP servers from a file: { "mcpServers": { … } }')
    .addOption(
      new Option(
        "--durability <kind>",
        "what stored events survive: a power cut (sync), or the end of the process (os)",
      )
        .choices(["sync", "os"])
        .default("sync"),
    )
    .option("--hash-chain", "record a chain of digests, so that verify detects any change")
    .addOption(
      new Option(
        "--pace <pace>",
        "how fast the offline model speaks: human, at-once, or a multiple of human speed (default: human in a terminal, otherwise at-once)",
      ).argParser(speakingPace),
    );
}

const serveHelp = `
The first line says the address and where the token is. Each request is a line; --json prints all of
it as JSON. SIGTERM and Ctrl-C end streams and turns, and close the store. /openapi.json describes
the routes.`;

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
