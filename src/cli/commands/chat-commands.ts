/** Commands in which an agent works, or is about to: chat, rerun, fork. */

import { type Command, Option } from "commander";
import type { ExitCode, Output } from "../output/index.ts";
import { collect, position, step, wholeNumber } from "./option-values.ts";

export function addChatCommands(
  program: Command,
  output: Output,
  end: (code: ExitCode) => void,
): void {
  agentOptions(
    program
      .command("chat", { isDefault: true })
      .description("ask an agent about this folder: one message, or a conversation")
      .argument("[message...]", "what to ask; without it a terminal asks, and a pipe is read")
      .option("--session <id>", "go on with a session, or give a new one this name")
      .addOption(
        new Option("-c, --continue", "go on with the session that was used last").conflicts(
          "session",
        ),
      )
      .option(
        "--attach <file>",
        "send a file along, by path or address; may be given several times",
        collect,
      ),
  )
    .addHelpText("after", chatHelp)
    .action(async (words: readonly string[], _options: unknown, command: Command) => {
      const { chat } = await import("./chat-command.ts");
      end(await chat(words, command.optsWithGlobals(), output));
    });

  agentOptions(
    program
      .command("rerun")
      .description(
        "go on live, in a fork, from the beginning of a session's last turn or from a step",
      )
      .argument("<session>", "its id")
      .option("--step <n>", "the step to begin with, counted from 1", step)
      .option("--at <n>", "a position in the middle of a turn", position)
      .option("--as <name>", "the fork's name (default: a new one)"),
  ).action(async (session: string, _options: unknown, command: Command) => {
    const { rerun } = await import("./chat-command.ts");
    end(await rerun(session, command.optsWithGlobals(), output));
  });

  program
    .command("fork")
    .description("make a session that shares another one's events up to a position; runs nothing")
    .argument("<session>", "its id")
    .option("--at <n>", "the last position that is shared (default: the end)", position)
    .option("--as <name>", "the fork's name (default: a new one)")
    .action(async (session: string, _options: unknown, command: Command) => {
      const { fork } = await import("./fork-command.ts");
      await fork(session, command.optsWithGlobals(), output);
    });
}

/** Who answers, and what it may do. */
function agentOptions(command: Command): Command {
  return command
    .option(
      "--model <model>",
      "openai:<model>, openai-responses:<model>, google:<model> or offline",
    )
    .option("--allow-write", "let the agent write files in this folder")
    .option("--mcp <command>", "an MCP server: its command, or its address (repeatable)", collect)
    .option("--mcp-config <file>", 'MCP servers from a file: { "mcpServers": { … } }')
    .addOption(
      new Option(
        "--durability <kind>",
        "what a stored event survives: sync a power cut, os the death of the process",
      )
        .choices(["sync", "os"])
        .default("sync"),
    )
    .option("--hash-chain", "keep a chain of digests, by which verify finds any change")
    .addOption(
      new Option("--offline-delay-ms <n>", "slow the offline model down")
        .argParser(wholeNumber)
        .hideHelp(),
    );
}

const chatHelp = `
Models: with OPENAI_API_KEY or GOOGLE_GENERATIVE_AI_API_KEY that provider answers, else the
offline model. OPENAI_BASE_URL names any compatible server (Ollama, vLLM), which is spoken to by
chat completions; openai-responses:<model> asks for the other protocol.

From the environment too: MODEL as --model, which goes before it; INSTRUCTIONS for the agent;
CONTEXT_STRATEGY=threshold|overflow|manual and CONTEXT_COMPACTION_THRESHOLD=0.8, a share of the
window, say when the conversation is compacted.

In a conversation you can type while the agent works: Enter queues, Tab steers, Esc or Ctrl-C
cancels. /help, typed there, lists the keys and the commands.

@<path> in what you type there attaches a file, @<address> one from the web; --attach does so from
here.

The agent's tools see this folder and nothing outside it. --allow-write offers write_file too: in a
terminal each write is asked for; without a terminal the option itself is the consent.

--mcp "npx -y @modelcontextprotocol/server-everything" adds the tools of a server, as
everything__echo; --mcp-config reads { "mcpServers": { name: { command, args, env } | { url,
headers } } }. In a terminal their calls are asked for, but for tools that only read.

--json prints every event of the turn with its session, one a line. With a single message Ctrl-C cancels the turn,
and a second one leaves.
Exit codes: 0 done, 1 error, 2 wrong usage, 130 cancelled, 143 ended from outside.`;
