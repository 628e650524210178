/**
 * A process that keeps a read model of all sessions, killed again and again at random moments: before and after
 * its write, before and after its position is stored. The read model equals a fold from the beginning.
 */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, expect, it } from "vitest";
import { z } from "zod";
import { repairLog } from "../../src/store/leveldb/index.ts";
import { openLog } from "../../src/public/index.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { bundled } from "../support/bundled.ts";
import { seededRandom } from "../support/random.ts";
import { lot, patience, times } from "../support/runs.ts";
import { logProblems } from "../support/log-problems.ts";

const moments = ["before", "written", "saving", "saved"] as const;

let root: string;
let child: string;
beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "turnlog-consuming-"));
  child = await bundled(new URL("consume-child.ts", import.meta.url), join(root, "child"));
});
afterAll(() => rm(root, { recursive: true, force: true }));

const endSchema = z.tuple([z.number().nullable(), z.string().nullable()]);

async function run(moment: string, at: number): Promise<"killed" | "ended"> {
  const running = spawn(process.execPath, [child, root, moment, String(at)], {
    env: cleanEnvironment({}),
    stdio: ["ignore", "ignore", "pipe"],
  });
  let stderr = "";
  running.stderr.setEncoding("utf8").on("data", (piece: string) => (stderr += piece));
  const [code, signal] = endSchema.parse(await once(running, "close"));
  if (signal === "SIGKILL") return "killed";
  if (code !== 0) throw new Error(`It ended with ${code ?? signal}: ${stderr}`);
  return "ended";
}

/** One store for all: each process continues where the killed one before it stopped. */
it.each(moments)(
  "a process that is killed %s continues at the stored position",
  async (moment) => {
    const random = seededRandom(`consuming ${moment} ${lot}`);
    for (let killed = 0; killed < times(2, 5); killed++)
      expect(await run(moment, 1 + random.below(9))).toBe("killed");
  },
  patience,
);

it(
  "the read model of all of them equals a fold from the beginning",
  async () => {
    expect(await run("never", 0)).toBe("ended");
    const dir = join(root, "store");
    {
      await using log = await openLog({ dir, create: false });
      const folded = (await Array.fromAsync(log.readAll())).map(({ position, session, event }) => {
        const isNote = event.type === "app.noted" || event.type === "app.end";
        return [
          position,
          session,
          event.position,
          isNote ? event.type : null,
          isNote ? event.data : null,
        ];
      });
      const model = (await readFile(join(root, "model.jsonl"), "utf8")).trim().split("\n");
      expect(model.map((line): unknown => JSON.parse(line))).toEqual(folded);
      expect(folded.length).toBeGreaterThan(moments.length * 5);
      expect(await logProblems(log)).toEqual([]);
    }
    expect(await repairLog({ dir })).toMatchObject({ changed: false, findings: [] });
  },
  patience,
);
