/** The small project that the tour talks about. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";

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

export async function writeTourFolder(folder: string): Promise<void> {
  await mkdir(join(folder, "src"), { recursive: true });
  for (const [name, text] of Object.entries(files)) await writeFile(join(folder, name), text);
}
