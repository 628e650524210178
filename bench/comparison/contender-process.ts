/** Runs a job of a contender in a process of its own, and tells why when that fails. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { z } from "zod";

const PROGRAM = fileURLToPath(new URL("./contender-child.ts", import.meta.url));
const PATIENCE_MS = 10 * 60_000;

export interface Job {
  readonly contender: string;
  readonly job: "run" | "ready" | "called" | "killed" | "kept";
  readonly dir: string;
  readonly steps: number;
  readonly pace?: string;
  /** A checkout whose build is the turnlog that runs; without it, this one's. */
  readonly checkout?: string;
}

interface Ended {
  readonly stdout: string;
  readonly stderr: string;
  readonly code: number | null;
  readonly signal: NodeJS.Signals | null;
}

/** @throws when the process fails, with what it said last */
export async function measured<Schema extends z.ZodType>(
  job: Job,
  schema: Schema,
): Promise<z.infer<Schema>> {
  const ended = await processOf(job);
  // What the contender itself prints comes before.
  const line = ended.stdout.trim().split("\n").at(-1) ?? "";
  if (ended.code !== 0 || !line.startsWith("{")) throw new Error(reason(ended));
  return schema.parse(JSON.parse(line));
}

/** For a job that kills itself. @throws when it ends in another way */
export async function killedIn(job: Job): Promise<void> {
  const ended = await processOf(job);
  if (ended.signal !== "SIGKILL") throw new Error(reason(ended));
}

async function processOf({ contender, job, dir, steps, pace, checkout }: Job): Promise<Ended> {
  const told = [PROGRAM, contender, job, dir, `${steps}`, ...(pace === undefined ? [] : [pace])];
  const child = spawn(process.execPath, told, {
    stdio: ["ignore", "pipe", "pipe"],
    timeout: PATIENCE_MS,
    // Nothing is measured that its maker would not run in production, and nothing is sent to anybody.
    env: {
      ...process.env,
      NODE_ENV: "production",
      LANGSMITH_TRACING: "false",
      MASTRA_TELEMETRY_DISABLED: "1",
      ...(checkout === undefined ? {} : { TURNLOG_CHECKOUT: checkout }),
    },
  });
  let [stdout, stderr] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (text: string) => (stdout += text));
  child.stderr.setEncoding("utf8").on("data", (text: string) => (stderr += text));
  await once(child, "close");
  return { stdout, stderr, code: child.exitCode, signal: child.signalCode };
}

/** The line that names the error, or the last one that says anything. */
function reason({ stderr, code, signal }: Ended): string {
  const lines = stderr.split("\n").filter((line) => line.trim() !== "");
  const named = lines.find((line) => /^\w*Error\b/.test(line)) ?? lines.at(-1) ?? "";
  return `${signal ?? `exit code ${code}`}: ${named.slice(0, 300)}`;
}
