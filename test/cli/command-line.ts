/** Runs the command line in a folder, with a clean environment: in a process of its own, as its users do, or in this one. */
import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { z } from "zod";
import { main } from "./built-command.ts";
import { runInProcess, type InProcessOptions } from "./in-process.ts";

export interface Ended {
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
  readonly stdout: string;
  readonly stderr: string;
}

export interface RunOptions {
  /** The folder in which it is started. */
  readonly cwd: string;
  readonly env?: Readonly<Record<string, string>>;
  /** What comes through the pipe; without it stdin is empty. */
  readonly input?: string;
  /** Options of Node itself. */
  readonly node?: readonly string[];
  /** Default: the build. */
  readonly program?: string;
}

export interface Running {
  readonly child: ChildProcess;
  /** Resolves as soon as what was written so far matches. */
  until(stream: "stdout" | "stderr", pattern: RegExp): Promise<void>;
  readonly ended: Promise<Ended>;
}

/** Nothing of the machine's own settings may decide what a test finds. */
const settings =
  /_API_KEY$|^(?:OPENAI_|GOOGLE_|ANTHROPIC_|CONTEXT_|MODEL$|INSTRUCTIONS$|NO_COLOR$|CI$|FORCE_COLOR$|NODE_DISABLE_COLORS$|NODE_OPTIONS$|npm_|VITEST|DEBUG$)/;

export function cleanEnvironment(extra: Readonly<Record<string, string>>): NodeJS.ProcessEnv {
  const kept = Object.entries(process.env).filter(([name]) => !settings.test(name));
  // What a person's chats remember. A test in which one does has a folder of its own.
  const XDG_CONFIG_HOME = join(tmpdir(), "turnlog-no-settings");
  return { ...Object.fromEntries(kept), XDG_CONFIG_HOME, ...extra };
}

export function start(args: readonly string[], options: RunOptions): Running {
  const { cwd, env = {}, input = "", node = [], program = main } = options;
  const child = spawn(process.execPath, [...node, program, ...args], {
    cwd,
    env: cleanEnvironment(env),
    stdio: ["pipe", "pipe", "pipe"],
  });
  const written = { stdout: "", stderr: "" };
  for (const stream of ["stdout", "stderr"] as const) {
    child[stream].setEncoding("utf8").on("data", (piece: string) => {
      written[stream] += piece;
    });
  }
  // It may be over before it has read its input.
  child.stdin.on("error", () => {});
  child.stdin.end(input);
  const ended = (async (): Promise<Ended> => {
    const [code, signal] = z
      .tuple([z.number().nullable(), z.custom<NodeJS.Signals | null>()])
      .parse(await once(child, "close"));
    return { code, signal, ...written };
  })();
  return {
    child,
    ended,
    async until(stream, pattern) {
      const found = (): boolean => pattern.test(written[stream]);
      while (!found()) {
        const more = await Promise.race([
          once(child[stream], "data").then(() => true),
          ended.then(() => false),
        ]);
        if (!more && !found()) {
          throw new Error(`It ended before ${pattern} came: ${JSON.stringify(await ended)}`);
        }
      }
    },
  };
}

/** Runs it to its end, in a process of its own: for what a process is, its streams, its start and its end. */
export async function runProcess(args: readonly string[], options: RunOptions): Promise<Ended> {
  return await start(args, options).ended;
}

/** Runs it to its end, in this process: for what a command does. */
export async function run(
  args: readonly string[],
  { env = {}, ...options }: Omit<RunOptions, "node" | "program"> & Pick<InProcessOptions, "output">,
): Promise<Ended> {
  return await runInProcess(args, { ...options, env: cleanEnvironment(env) });
}

/** The values of JSON lines. Fails on anything else. */
export function jsonLines(text: string): readonly unknown[] {
  return text
    .split("\n")
    .filter((line) => line !== "")
    .map((line): unknown => JSON.parse(line));
}

const sessionLine = /^(?:New session|Session) (\S+) /m;

/** The session that a chat has told on stderr. */
export function sessionOf({ stderr }: Ended): string {
  const name = sessionLine.exec(stderr)?.[1];
  if (name === undefined) throw new Error(`No session was told: ${stderr}`);
  return name;
}
