/**
 * Runs the command line in a terminal of its own, made by `script` of util-linux: what is typed
 * goes through a real line discipline, and the process sees terminals on all three streams.
 */
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { stripVTControlCharacters } from "node:util";
import { main } from "./built-command.ts";
import { cleanEnvironment } from "./command-line.ts";

const asked = spawnSync("script", ["--version"], { encoding: "utf8" });
/** Whether this machine can make such a terminal; elsewhere `script` is missing or another program. */
export const hasTerminals: boolean = asked.status === 0 && asked.stdout.includes("util-linux");

export interface TerminalRun {
  /** Presses keys: "\r" is Enter, "\u0003" Ctrl-C, "\u0004" Ctrl-D. */
  type(keys: string): void;
  /** Resolves when the pattern is on the screen, looks left aside, after where the last one was found. */
  until(pattern: RegExp): Promise<void>;
  /** All that was written to the screen, when it is over. */
  readonly ended: Promise<{ readonly code: number | null; readonly screen: string }>;
}

export interface TerminalOptions {
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** Another command that reads its stdout, in the same terminal. */
  readonly pipedTo?: string;
}

export function startInTerminal(
  args: readonly string[],
  { pipedTo, ...options }: TerminalOptions,
): TerminalRun {
  const words = [process.execPath, main, ...args].map(
    (word) => `'${word.replaceAll("'", "'\\''")}'`,
  );
  const started =
    pipedTo === undefined ? `exec ${words.join(" ")}` : `${words.join(" ")} | ${pipedTo}`;
  return startShell(started, options);
}

/** Runs a line of `sh` there. */
export function startShell(
  line: string,
  { cwd, env = {} }: Omit<TerminalOptions, "pipedTo">,
): TerminalRun {
  const command = `stty cols 100 rows 40; ${line}`;
  const child = spawn("script", ["-qec", command, "/dev/null"], {
    cwd,
    env: { ...cleanEnvironment(env), TERM: "xterm", SHELL: "/bin/sh" },
    stdio: ["pipe", "pipe", "inherit"],
  });
  let screen = "";
  let seen = 0;
  child.stdout.setEncoding("utf8").on("data", (piece: string) => {
    screen += piece;
  });
  const closed = once(child, "close");
  return {
    type(keys) {
      child.stdin.write(keys);
    },
    async until(pattern) {
      for (;;) {
        const plain = stripVTControlCharacters(screen);
        const found = pattern.exec(plain.slice(seen));
        if (found !== null) {
          seen += found.index + found[0].length;
          return;
        }
        const more = once(child.stdout, "data").then(() => true);
        if (!(await Promise.race([more, closed.then(() => false)]))) {
          throw new Error(`It ended before ${pattern} came: ${JSON.stringify(plain.slice(seen))}`);
        }
      }
    },
    ended: closed.then(() => ({ code: child.exitCode, screen })),
  };
}
