/**
 * The command line: the options that all commands share, and the exit code of a run. Each command
 * (`commands/`) is loaded when it is called: `--help` loads only commander, `show` and `sessions` load no
 * AI SDK.
 */

import { readFileSync } from "node:fs";
import { type Command, CommanderError, Option } from "commander";
import { addCommands } from "./commands/command-definitions.ts";
import { addCompletionCommand, addHelpCommand, refuseMistyped } from "./commands/shell-commands.ts";
import { LoadedCommand } from "./commands/loaded-command.ts";
import { addExamples } from "./commands/command-examples.ts";
import { DEFAULT_DIR, isReaderGone, processOutput, type Output } from "./output/output.ts";
import {
  refuseIdle,
  reportError,
  DONE,
  USED_WRONGLY,
  type ExitCode,
  UsageError,
} from "./output/error-report.ts";
import { interleaved } from "./output/interleaved-output.ts";
import { visibleName } from "./output/visible-text.ts";

/** Runs one command line; never throws. */
export async function run(
  args: readonly string[],
  output: Output = interleaved(processOutput()),
): Promise<ExitCode> {
  let code: ExitCode = DONE;
  const program = commandLine(output, (exitCode) => {
    code = exitCode;
  });
  program.hook("preAction", (_, acting) => {
    // Provider warnings are events here; the SDK must not write them again.
    globalThis.AI_SDK_LOG_WARNINGS = false;
    refuseMistyped(program, acting, args);
    chooseStore(program, acting);
  });
  try {
    await program.parseAsync([...args], { from: "user" });
    return code;
  } catch (error) {
    return await exitCodeOf(error, output, program.opts()["debug"] === true);
  }
}

async function exitCodeOf(error: unknown, output: Output, debug: boolean): Promise<ExitCode> {
  // Commander has already written its message.
  if (error instanceof CommanderError) return error.exitCode === 0 ? DONE : USED_WRONGLY;
  try {
    return isReaderGone(error) ? DONE : await reportError(output.progress, error, debug);
  } catch (unreported) {
    if (isReaderGone(unreported)) return DONE;
    throw unreported;
  }
}

/** All commands with their options. @param end - Receives the exit code of a command. */
export function commandLine(output: Output, end: (code: ExitCode) => void): Command {
  const program = new LoadedCommand("turnlog", output, end)
    .description(
      "Durable LLM agent sessions. Without a command: chat with an agent about this folder.",
    )
    .version(packageVersion(), "--version", "print the version")
    .helpOption("-h, --help", "print this help")
    .option("--dir <folder>", "the folder of the store", DEFAULT_DIR)
    .addOption(
      new Option(
        "--postgres <url>",
        "use the sessions of this database instead of a folder's; other processes may use them too",
      ).env("TURNLOG_POSTGRES_URL"),
    )
    .option("--no-migrate", "do not create the tables of the database")
    .addOption(
      new Option(
        "--server <url>",
        "use the sessions of this server, whose token is in TURNLOG_TOKEN; its agent answers",
      ).env("TURNLOG_SERVER"),
    )
    .addOption(
      new Option(
        "--keys <folder>",
        "encrypt sessions with keys in this folder, and read encrypted sessions",
      ).env("TURNLOG_KEYS"),
    )
    .option(
      "--take-over",
      "open a store that was left open on another machine; first check that nothing there uses it",
    )
    .option("--json", "print data as JSON, one value per line")
    .option("--debug", "print the stack of an error")
    .configureHelp({ showGlobalOptions: true })
    // Commander's messages quote the arguments, which may hold control characters.
    .configureOutput({
      outputError: (text, write) =>
        write(
          `${text
            .trimEnd()
            .split(/\n(?=\(Did you mean)/)
            .map(visibleName)
            .join("\n")}\n`,
        ),
    })
    .showHelpAfterError("(turnlog --help explains the options)")
    .addHelpText("after", examples)
    .helpCommand(false)
    .exitOverride();

  addCommands(program);
  addCompletionCommand(program, output);
  addHelpCommand(program);
  addExamples(program);
  return program;
}

const examples = `
Examples:
  turnlog                                   chat in this folder
  turnlog "which files mention zod?"        one question, one answer
  turnlog --session <id>                    continue a session
  turnlog sessions
  turnlog show <id> --view events --json

'turnlog chat --help' has the options of the chat, 'turnlog help <command>' those of a command.`;

/** Parses by hand: loading zod would take longer than the rest of `--version`. */
function packageVersion(): string {
  const text = readFileSync(new URL("../../package.json", import.meta.url), "utf8");
  const found: unknown = JSON.parse(text);
  const known = typeof found === "object" && found !== null && "version" in found;
  return known && typeof found.version === "string" ? found.version : "unknown";
}

// Chooses the store of a command: a folder, the database of `--postgres`, or the sessions of `--server`. No command looks at those options itself.

/** Commands about the files of a store, and the way of a database. */
const ofFolders: Readonly<Record<string, string>> = {
  backup: "copy the database with `pg_dump`",
  repair: "restore the database from a copy that `pg_dump` made; `turnlog verify` checks it",
  "rotate-keys": "call `keys.rotate(log)` in a program with the log of `openPostgresLog`",
};

/** Commands without one store. */
const ofNone: ReadonlySet<string> = new Set(["completion", "help", "copy", "init"]);

/**
 * Sets the option `remote` if the command works on a database or a server. A folder that the command line names comes before
 * the database that the environment names.
 * @throws UsageError for options that would have no effect
 */
function chooseStore(program: Command, acting: Command): void {
  const {
    postgres = "",
    server = "",
    migrate,
  } = program.opts<{
    readonly postgres?: string;
    readonly server?: string;
    readonly migrate: boolean;
  }>();
  const isTyped = (name: string, command = program): boolean =>
    command.getOptionValueSource(name) === "cli";
  if (acting.name() === "copy")
    refuseIdle(
      {
        "--dir": isTyped("dir"),
        "--postgres": isTyped("postgres"),
        "--server": isTyped("server"),
        "--keys": isTyped("keys"),
      },
      ": `turnlog copy` names its stores by --from and --to, and copies encrypted sessions as they are stored.",
    );
  const isTypedFolder = isTyped("dir");
  const isServer =
    server.trim() !== "" && (isTyped("server") || !(isTypedFolder || isTyped("postgres")));
  const isGiven = postgres.trim() !== "" && (isTyped("postgres") || !(isTypedFolder || isServer));
  if (isTyped("server") && isTyped("postgres"))
    throw new UsageError("--server and --postgres both name the sessions: give one of them.");
  if (!migrate && !isGiven && acting.name() !== "copy")
    throw new UsageError("--no-migrate is only for a database: add --postgres, or leave it out.");
  if (!(isGiven || isServer) || ofNone.has(acting.name())) return;
  if (isServer) {
    useServer(acting, isTyped);
    const url = addressOf(server.trim());
    program.setOptionValue("remote", { kind: "server", url, token: tokenOf(process.env) });
    return;
  }
  const own = ofFolders[acting.name()];
  if (own !== undefined)
    throw new UsageError(
      `\`turnlog ${acting.name()}\` works on the files of a store in a folder (--dir). With a database, ${own}.`,
    );
  refuseIdle(
    {
      "--dir": isTyped("dir"),
      "--take-over": isTyped("takeOver"),
      "--durability": isTyped("durability", acting),
    },
    " works only for a store in a folder, not with --postgres.",
  );
  program.setOptionValue("remote", { kind: "database", connectionString: postgres, migrate });
}

/** Commands that are about a store, not about its sessions. */
const ofStores: ReadonlySet<string> = new Set([
  ...Object.keys(ofFolders),
  "gc",
  "serve",
  "postgres",
  "migrate",
]);

/** @throws UsageError for a command or options that have no meaning for a server */
function useServer(acting: Command, isTyped: (name: string, command?: Command) => boolean): void {
  if (ofStores.has(acting.name()))
    throw new UsageError(
      `\`turnlog ${acting.name()}\` is about a store, not about its sessions: run it where the store is.`,
    );
  refuseIdle(
    { "--dir": isTyped("dir"), "--keys": isTyped("keys"), "--take-over": isTyped("takeOver") },
    " works only where the store is, not with --server.",
  );
}

/** The address without slashes at its end. @throws UsageError for what is no address, or more than one */
function addressOf(given: string): string {
  const url = URL.parse(given);
  // Messages show the address, so it must have no password.
  const more = [url?.username, url?.password, url?.search, url?.hash].join("");
  if (more !== "")
    throw new UsageError(
      "--server takes an address without a name, a query or `#`, such as https://agents.example.com; the token is in TURNLOG_TOKEN.",
    );
  if (url === null || !/^https?:\/\//i.test(given))
    throw new UsageError(
      `--server ${given}: the address of a server begins with http:// or https://, and has a host.`,
    );
  return url.origin + url.pathname.replace(/\/+$/, "");
}

/** It is no option, since other users of the machine see those. @throws UsageError */
function tokenOf({ TURNLOG_TOKEN: given = "" }: NodeJS.ProcessEnv): string | undefined {
  const token = given.trim();
  if (token === "") return undefined;
  if (/^[\x20-\x7E]+$/.test(token)) return token;
  throw new UsageError(
    "TURNLOG_TOKEN has characters that a token cannot have: a line break, or letters that are not ASCII.",
  );
}
