/** How long it takes until a session of a store is ready for its next model call, in a fresh process each time. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { cp, open, readdir } from "node:fs/promises";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { z } from "zod";
import { inFolder } from "./folder.ts";
import { spread, type Spread } from "./statistics.ts";

const measuredSchema = z.object({
  /** The store is open. */
  openMs: z.number(),
  /** The next prompt is there. */
  readyMs: z.number(),
  readyCpuMs: z.number(),
  /** A message was sent and the model is being called. */
  calledMs: z.number(),
  events: z.int(),
  messages: z.int(),
});

export interface Reopening {
  readonly events: number;
  readonly messages: number;
  readonly openMs: Spread;
  readonly readyMs: Spread;
  readonly readyCpuMs: Spread;
  readonly calledMs: Spread;
}

const programOf = (name: string): string => fileURLToPath(new URL(name, import.meta.url));

/** Opens copies of a store, as opening may change it. */
export async function measureReopening(
  store: string,
  steps: number,
  times: number,
): Promise<Reopening> {
  const measured: z.infer<typeof measuredSchema>[] = [];
  for (let time = 0; time < times; time++) {
    await inFolder(async (dir) => {
      const copy = join(dir, "store");
      // A killed process leaves its socket, which cannot be copied.
      const filter = (path: string): boolean => !path.endsWith(".sock");
      await cp(store, copy, { recursive: true, filter });
      await onDisk(copy);
      const program = programOf("./reopen-child.ts");
      const { stdout } = await promisify(execFile)(process.execPath, [
        "--expose-gc",
        program,
        copy,
        `${steps}`,
      ]);
      measured.push(measuredSchema.parse(JSON.parse(stdout)));
    });
  }
  const all = (of: (one: (typeof measured)[number]) => number): Spread => spread(measured.map(of));
  const [first] = measured;
  return {
    events: first?.events ?? 0,
    messages: first?.messages ?? 0,
    openMs: all((one) => one.openMs),
    readyMs: all((one) => one.readyMs),
    readyCpuMs: all((one) => one.readyCpuMs),
    calledMs: all((one) => one.calledMs),
  };
}

/** Opening waits for the disk: it should be for what opening writes, and not for the copy. */
export async function onDisk(folder: string): Promise<void> {
  for (const entry of await readdir(folder, { recursive: true, withFileTypes: true })) {
    if (!entry.isFile()) continue;
    await using file = await open(join(entry.parentPath, entry.name));
    await file.sync();
  }
}

/** Leaves a store behind whose process was killed as it began a step of its only turn. */
export async function leaveKilled(store: string, steps: number, last: number): Promise<void> {
  const program = programOf("./killed-child.ts");
  const child = spawn(process.execPath, [program, store, `${steps}`, `${last}`], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  await once(child, "exit");
  if (child.signalCode !== "SIGKILL") throw new Error("The session to be killed came to its end.");
}
