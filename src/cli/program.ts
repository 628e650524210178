/**
 * The commands, their options and their help. Each command's code is loaded when it is called:
 * `--help` loads commander and nothing else, `show` and `sessions` no AI SDK and no prompts.
 */

import { readFileSync } from "node:fs";
import { Command, CommanderError, InvalidArgumentError, Option } from "commander";
import { DEFAULT_DIR } from "./default-dir.ts";
import { reportError } from "./error-report.ts";
import { DONE, USED_WRONGLY, type ExitCode } from "./exit-code.ts";
import { isReaderGone, processOutput, type Output } from "./output.ts";

/** Runs one command line; never throws. */
export async function run(args: readonly string[]): Promise<ExitCode> {
  const output = processOutput();
  let code: ExitCode = DONE;
  const program = commands(output, (ended) => {
    code = ended;
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    return await ending(error, output, program.opts()["debug"] === true);
  }
}

async function ending(error: unknown, output: Output, debug: boolean): Promise<ExitCode> {
  // Commander has written its message by itself.
  if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : USED_WRONGLY;
  try {
    return isReaderGone(error) ? DONE : await reportError(output.progress, error, debug);
  } catch (unreported) {
    if (isReaderGone(unreported)) return DONE;
    throw unreported;
  }
}

function commands(output: Output, end: (code: ExitCode) => void): Command {
  const program = new Command("turnlog")
    .description(
      "Durable LLM agent sessions. Without a command: chat with an agent about this folder.",
    )
    .version(packageVersion(), "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .option("--dir <folder>", "the folder of the store", DEFAULT_DIR)
    .addOption(
      new Option(
        "--keys <folder>",
        "encrypt what sessions say, with keys in this folder, and read what is encrypted",
      ).env("TURNLOG_KEYS"),
    )
    .option("--json", "print data as JSON, one value a line")
    .option("--debug", "print the stack of an error")
    .configureHelp({ showGlobalOptions: true })
    .showHelpAfterError("(turnlog --help tells more)")
    .addHelpText("after", examples)
    .exitOverride();

  agentOptions(
    program
      .command("chat", { isDefault: true })
      .description("ask an agent about this folder: one message, or a conversation")
      .argument("[message...]", "what to ask; without it a terminal asks, and a pipe is read")
      .option("--session <id>", "go on with a session, or give a new one this name")
      .option(
        "--attach <file>",
        "send a file along, by path or address; may be given several times",
        (file: string, before: readonly string[]) => [...before, file],
        [],
      ),
  )
    .addHelpText("after", chatHelp)
    .action(async (words: readonly string[], _options: unknown, command: Command) => {
      const { chat } = await import("./chat-command.ts");
      end(await chat(words, command.optsWithGlobals(), output));
    });

  program
    .command("sessions")
    .description("list the sessions of the store, the newest first")
    .action(async (_options: unknown, command: Command) => {
      const { sessions } = await import("./sessions-command.ts");
      await sessions(command.optsWithGlobals(), output);
    });

  program
    .command("show")
    .description("show a session as it is, or as it stood at a position; runs nothing")
    .argument("<session>", "its id")
    .option("--at <n>", "the position, counted from 1 (default: the last)", position)
    .addOption(
      new Option("--view <view>", "what to show of it")
        .choices(["events", "history", "prompt", "state", "usage", "timeline"])
        .default("history"),
    )
    .option("--step <n>", "of the timeline, one step", position)
    .option("--full", "show long values whole")
    .action(async (session: string, _options: unknown, command: Command) => {
      const { show } = await import("./show-command.ts");
      await show(session, command.optsWithGlobals(), output);
    });

  program
    .command("context")
    .description("say how large a session's next prompt is, and what it is made of")
    .argument("<session>", "its id")
    .option("--at <n>", "the position, counted from 1 (default: the last)", position)
    .action(async (session: string, _options: unknown, command: Command) => {
      const { context } = await import("./context-command.ts");
      await context(session, command.optsWithGlobals(), output);
    });

  program
    .command("diff")
    .description("say what the model is shown at one position of a session and not at another")
    .argument("<session>", "its id")
    .argument("<before>", "a position, counted from 1", position)
    .argument("<after>", "another one", position)
    .action(async (...given: readonly [string, number, number, unknown, Command]) => {
      const [session, before, after, , command] = given;
      const { diff } = await import("./diff-command.ts");
      await diff(session, [before, after], command.optsWithGlobals(), output);
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

  agentOptions(
    program
      .command("rerun")
      .description(
        "go on live, in a fork, from the beginning of a session's last turn or from a step",
      )
      .argument("<session>", "its id")
      .option("--step <n>", "the step to begin with, counted from 1", position)
      .option("--at <n>", "a position in the middle of a turn", position)
      .option("--as <name>", "the fork's name (default: a new one)"),
  ).action(async (session: string, _options: unknown, command: Command) => {
    const { rerun } = await import("./chat-command.ts");
    end(await rerun(session, command.optsWithGlobals(), output));
  });

  program
    .command("verify")
    .description("hold a session, or all of them, against the laws; exit code 1 if one is broken")
    .argument("[session]", "its id (default: every session of the store)")
    .option("--every <n>", "compare states at every n-th position (default: 16 of them)", position)
    .option(
      "--chain <position:digest>",
      "of one session, the end of its hash chain as noted before",
    )
    .action(async (session: string | undefined, _options: unknown, command: Command) => {
      const { verify } = await import("./verify-command.ts");
      end(await verify(session, command.optsWithGlobals(), output));
    });

  program
    .command("replay")
    .description("show a session again as it was seen, or check that its agent does it again")
    .argument("<session>", "its id")
    .option("--pace <pace>", "at-once, recorded, or so many times as fast", pace, "at-once")
    .option("--max-gap <seconds>", "wait for no event longer than that", positiveNumber)
    .option("--check", "run the runtime against the recording; exit code 1 at a difference")
    .option("--agent <file>", "the module with the agent to check (default: the chat's agent)")
    .action(async (session: string, _options: unknown, command: Command) => {
      const { replaySession } = await import("./replay-command.ts");
      end(await replaySession(session, command.optsWithGlobals(), output));
    });

  program
    .command("export")
    .description("write a session as JSON Lines: a header, then one event a line")
    .argument("<session>", "its id")
    .option("--out <file>", "where to (default: stdout)")
    .option("--sealed", "of an encrypted session, its events as they are stored")
    .option("--fixture [file]", "short ids, times from a fixed moment on, and no secrets")
    .option("--redact <regex...>", "in a fixture, take out what matches this too")
    .option("--blobs <folder>", "put media into a folder beside it (default: into the file)")
    .action(async (session: string, _options: unknown, command: Command) => {
      const { exportTo } = await import("./export-command.ts");
      await exportTo(session, command.optsWithGlobals(), output);
    });

  program
    .command("import")
    .description("bring a session from a file into the store, all of it or nothing")
    .argument("<file>", "what 'turnlog export' wrote, or a JSON array of messages")
    .addOption(
      new Option("--from <kind>", "what is in the file: messages are those of the AI SDK")
        .choices(["session", "model-messages", "ui-messages"])
        .default("session"),
    )
    .option("--as <name>", "the session's name here (default: the one it had; messages need one)")
    .option("--no-verify", "take it although it breaks a law, or its media are not there")
    .option("--blobs <folder>", "where its media lie that are not in the file")
    .action(async (file: string, _options: unknown, command: Command) => {
      const { importFrom } = await import("./import-command.ts");
      await importFrom(file, command.optsWithGlobals(), output);
    });

  program
    .command("log")
    .description("print the events of all sessions in the order in which they were written")
    .option("--session <id>", "those of one session")
    .option("--from <n>", "the global position to begin at, counted from 1", position)
    .option("--follow", "go on with what is written later, each time a process closes the store")
    .action(async (_options: unknown, command: Command) => {
      const { showLog } = await import("./log-command.ts");
      end(await showLog(command.optsWithGlobals(), output));
    });

  program
    .command("delete")
    .description("delete a session for good; its name is not used again")
    .argument("<session>", "its id")
    .option("--yes", "do not ask (where there is no terminal, nobody can be asked)")
    .addOption(
      new Option("--forks <what>", "where others share its events: give them their own copy")
        .choices(["refuse", "copy"])
        .default("refuse"),
    )
    .action(async (session: string, _options: unknown, command: Command) => {
      const { deleteSession } = await import("./delete-command.ts");
      end(await deleteSession(session, command.optsWithGlobals(), output));
    });

  program
    .command("compact-log")
    .description("drop what a session's old steps need not hold: delta boundaries, or reasoning")
    .argument("<session>", "its id")
    .addOption(
      new Option("--drop <what>", "what is dropped, for good")
        .choices(["boundaries", "reasoning"])
        .makeOptionMandatory(),
    )
    .option(
      "--keep-steps <n>",
      "keep the last n steps (default: those of the last turn)",
      wholeNumber,
    )
    .option("--before <date|days>", "only steps that were over before 2026-10-01, or 30d ago")
    .option("--shown", "also reasoning that the next prompt would have")
    .option("--dry-run", "say what would be dropped, and drop nothing")
    .option("--yes", "do not ask (where there is no terminal, nobody can be asked)")
    .action(async (session: string, _options: unknown, command: Command) => {
      const { compactStoredLog } = await import("./compact-log-command.ts");
      end(await compactStoredLog(session, command.optsWithGlobals(), output));
    });

  program
    .command("redact")
    .description("erase the keys of what an encrypted session says at positions, for good")
    .argument("<session>", "its id")
    .argument("<positions...>", "each a position, or a stretch as 12-20", stretch)
    .option("--reason <text>", "why, for those who may read the session")
    .option("--yes", "do not ask (where there is no terminal, nobody can be asked)")
    .action(
      async (
        session: string,
        positions: readonly Stretch[],
        _options: unknown,
        command: Command,
      ) => {
        const { redact } = await import("./redact-command.ts");
        end(await redact(session, positions, command.optsWithGlobals(), output));
      },
    );

  program
    .command("backup")
    .description("copy the store into another, empty folder, and check all that is copied")
    .argument("<folder>", "where to; made when it is not there")
    .action(async (folder: string, _options: unknown, command: Command) => {
      const { backup } = await import("./backup-command.ts");
      end(await backup(folder, command.optsWithGlobals(), output));
    });

  program
    .command("gc")
    .description("take media away that no session has, such as a killed process leaves behind")
    .action(async (_options: unknown, command: Command) => {
      const { collectGarbage } = await import("./gc-command.ts");
      end(await collectGarbage(command.optsWithGlobals(), output));
    });

  program
    .command("repair")
    .description("mend a damaged store as far as it can be mended, and say what is gone")
    .action(async (_options: unknown, command: Command) => {
      const { repair } = await import("./repair-command.ts");
      await repair(command.optsWithGlobals(), output);
    });

  return program;
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

const examples = `
Examples:
  turnlog                                   chat in this folder
  turnlog "which files mention zod?"        one question, one answer
  turnlog --session <id>                    go on with a session
  turnlog sessions
  turnlog show <id> --view events --json

'turnlog chat --help' has the options of the chat.`;

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

--json prints every event of the turn, one a line. With a single message Ctrl-C cancels the turn,
and a second one leaves.
Exit codes: 0 done, 1 error, 2 wrong usage, 130 cancelled, 143 ended from outside.`;

function collect(text: string, before: readonly string[] = []): readonly string[] {
  return [...before, text];
}

function position(text: string): number {
  const value = wholeNumber(text);
  if (value < 1) throw new InvalidArgumentError("Positions are counted from 1.");
  return value;
}

interface Stretch {
  readonly from: number;
  readonly to: number;
}

function stretch(text: string, before: readonly Stretch[] = []): readonly Stretch[] {
  const [first = "", last = first, more] = text.split("-");
  const [from, to] = [position(first), position(last)];
  if (more !== undefined || from > to)
    throw new InvalidArgumentError("It is neither a position nor a stretch as 12-20.");
  return [...before, { from, to }];
}

function pace(text: string): "at-once" | "recorded" | number {
  return text === "at-once" || text === "recorded" ? text : positiveNumber(text);
}

function positiveNumber(text: string): number {
  const value = Number(text);
  if (Number.isFinite(value) && value > 0) return value;
  throw new InvalidArgumentError("It is not a number above 0.");
}

function wholeNumber(text: string): number {
  if (!/^\d{1,15}$/.test(text)) throw new InvalidArgumentError("It is not a whole number.");
  return Number(text);
}

/** By hand: a schema would cost more than all the rest of `--version`. */
function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const found: unknown = JSON.parse(text);
  const known = typeof found === "object" && found !== null && "version" in found;
  return known && typeof found.version === "string" ? found.version : "unknown";
}
