/** Starts `child.ts` or another script, reads its output, and ends it. */
import { spawn, type ChildProcess, type SpawnOptions } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { onTestFinished } from "vitest";
import { builtOnce } from "../../support/bundled.ts";

const usual = await builtOnce(new URL("child.ts", import.meta.url));

export interface Child {
  readonly process: ChildProcess;
  /** All lines so far. */
  readonly lines: readonly string[];
  /** The next line that fulfils a condition. */
  readonly line: (fits: (line: string) => boolean) => Promise<string>;
  /** Kills it with SIGKILL. */
  readonly kill: () => Promise<void>;
  /** All lines, once it has ended. */
  readonly ended: Promise<readonly string[]>;
}

export interface ChildOptions extends SpawnOptions {
  /** A shell command that sets limits before the process starts. */
  readonly limits?: string;
  /** The script. Default: `child.ts`. */
  readonly script?: string;
}

export function startChild(
  args: readonly string[],
  { limits, script = usual, ...options }: ChildOptions = {},
): Child {
  const command = [process.execPath, script, ...args];
  const child =
    limits === undefined
      ? spawn(process.execPath, [script, ...args], {
          stdio: ["pipe", "pipe", "inherit"],
          ...options,
        })
      : spawn("sh", ["-c", `${limits}; exec "$0" "$@"`, ...command], {
          stdio: ["pipe", "pipe", "inherit"],
          ...options,
        });
  const lines: string[] = [];
  const waiting = new Set<(line: string) => void>();
  if (child.stdout === null) throw new Error("the child has no output");
  const reader = createInterface({ input: child.stdout });
  reader.on("line", (line) => {
    lines.push(line);
    for (const wake of waiting) wake(line);
  });
  const exit = once(child, "close");
  onTestFinished(async () => {
    child.kill("SIGKILL");
    await exit;
  });
  return {
    process: child,
    lines,
    line: (fits) =>
      new Promise((resolve, reject) => {
        const wake = (line: string): void => {
          if (!fits(line)) return;
          waiting.delete(wake);
          resolve(line);
        };
        waiting.add(wake);
        void exit.then(() =>
          reject(new Error(`the child ended, having printed ${lines.join(" | ")}`)),
        );
      }),
    kill: async () => {
      child.kill("SIGKILL");
      await exit;
    },
    ended: exit.then(() => lines),
  };
}
