/** `turnlog --demo`: a half-minute tour in a folder of its own, whose process is killed mid-word and resumes. */

import { isatty } from "node:tty";
import { playTour } from "../demo/tour-process.ts";
import { type ExitCode, UsageError, INTERRUPTED } from "../output/error-report.ts";
import { type Output, writeLine } from "../output/output.ts";
import { humanPace, type Given } from "./option-values.ts";
import type { chatOptions } from "./command-options.ts";
import { spawn } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { TurnlogError } from "../../events/index.ts";

export async function demo(
  words: readonly string[],
  options: Given<typeof chatOptions>,
  output: Output,
): Promise<ExitCode> {
  const { demoFolder, pace, session, model, attach = [] } = options;
  const isMore = session !== undefined || options.continue || model !== undefined;
  if (words.length > 0 || isMore || attach.length > 0)
    throw new UsageError("--demo has its own messages and model: use it alone.");
  const isShown = isatty(2);
  const each = pace ?? (isShown ? humanPace : 0);
  if (demoFolder !== undefined) return await playTour(demoFolder, { pace: each, output });
  const factor = each === 0 ? "at-once" : String(humanPace / each);
  return await tour(["--pace", factor], output);
}

/** `words`: the rest of the command line of each process. */
async function tour(words: readonly string[], { progress }: Output): Promise<ExitCode> {
  const folder = await mkdtemp(join(tmpdir(), "turnlog-tour-"));
  // Ctrl-C ends the process that plays; this one then removes the folder.
  const ignore = (): void => {};
  process.on("SIGINT", ignore);
  try {
    await writeTourFolder(folder);
    const first = await play(folder, words);
    if (first.signal !== "SIGKILL") return ended(first);
    const dead = `✗ Process ${first.pid} is dead: SIGKILL. Nothing was closed, nothing was saved.`;
    await writeLine(progress, `\n\n${progress.style("red", dead)}`);
    return ended(await play(folder, words));
  } finally {
    process.off("SIGINT", ignore);
    await rm(folder, { recursive: true, force: true });
  }
}

interface Played {
  readonly pid: number | undefined;
  readonly code: number | null;
  readonly signal: string | null;
}

/** One process of the tour, with the command line of this one. */
async function play(folder: string, words: readonly string[]): Promise<Played> {
  const { execPath, execArgv, argv } = process;
  const main = argv[1] ?? "";
  const args = [...execArgv, main, "--demo", "--demo-folder", folder, ...words];
  const child = spawn(execPath, args, { stdio: "inherit" });
  return await new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("close", (code, signal) => resolve({ pid: child.pid, code, signal }));
  });
}

function ended({ code, signal }: Played): ExitCode {
  if (signal === "SIGINT" || code === INTERRUPTED) return INTERRUPTED;
  if (code === 0) return 0;
  throw new TurnlogError("RUNTIME_CLOSED", `The tour ended early: ${signal ?? `code ${code}`}.`);
}

/** The small project that the tour talks about. */
const files: Readonly<Record<string, string>> = {
  "README.md": `# jobs

A small queue: it collects jobs for five milliseconds and writes them to a sink together. A job that comes while a batch is being written waits for the next batch, and none is lost.

It has no dependencies. Its users are the workers of one process, which share one queue. Whatever the sink does with a batch is its own affair: the queue tries a failed batch again, in order, until the sink takes it or the process ends.
`,
  "src/queue.ts": `export class Queue {
  #jobs: Job[] = [];
  push(job: Job): void {
    this.#jobs.push(job);
  }
}
`,
};

async function writeTourFolder(folder: string): Promise<void> {
  await mkdir(join(folder, "src"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}
