/** Runs one process of the kill tests up to its death, and keeps what it told. */

import { spawn } from "node:child_process";
import { dirname, join } from "node:path";
import { bundled } from "../support/bundled.ts";
import type { Moment } from "./crash-moment.ts";
import { toldSchema, type CrashPlan, type Told } from "./crash-plan.ts";

export interface CrashRun {
  /** False when it had come to its end before the moment of its death. */
  readonly killed: boolean;
  readonly told: readonly Told[];
}

const program = new URL("crash-child.ts", import.meta.url);

/** The program that dies, made for many runs in an empty folder of the test's own. */
export async function crashProgram(folder: string): Promise<string> {
  return await bundled(program, folder);
}

export async function crashRun(child: string, plan: CrashPlan, moment: Moment): Promise<CrashRun> {
  const told = moment.by === "itself" ? { ...plan, die: moment.die } : plan;
  const running = spawn(process.execPath, [child, JSON.stringify(told)], {
    stdio: ["ignore", "pipe", "pipe"],
    env: { ...process.env, NODE_COMPILE_CACHE: join(dirname(child), "compiled") },
  });
  const exited = Promise.withResolvers<NodeJS.Signals | number | null>();
  running.once("error", exited.reject);
  running.once("close", (code, signal) => {
    exited.resolve(signal ?? code);
  });
  const output: Buffer[] = [];
  const errors: Buffer[] = [];
  running.stderr.on("data", (chunk: Buffer) => errors.push(chunk));
  let seen = 0;
  let doomed = false;
  const look = (): void => {
    if (moment.by === "itself" || doomed || seen < moment.bytes) return;
    doomed = true;
    if (moment.afterMs === 0) running.kill("SIGKILL");
    else setTimeout(() => running.kill("SIGKILL"), moment.afterMs);
  };
  running.stdout.on("data", (chunk: Buffer) => {
    output.push(chunk);
    seen += chunk.length;
    look();
  });
  running.once("spawn", look);
  const end = await exited.promise;
  if (end !== "SIGKILL" && end !== 0) {
    throw new Error(
      `The process ended by itself with ${String(end)}:\n${Buffer.concat(errors).toString()}`,
    );
  }
  // The last line may have been cut off by the kill.
  const lines = Buffer.concat(output).toString().split("\n").slice(0, -1);
  return {
    killed: end === "SIGKILL",
    told: lines.map((line) => toldSchema.parse(JSON.parse(line))),
  };
}
