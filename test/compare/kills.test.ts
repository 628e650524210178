/** A comparison that is killed at any moment continues where it was, and comes to the same report. */

import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import type { Comparison } from "../../src/compare/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, openLog } from "../../src/public/index.ts";
import { call, calling } from "../support/script.ts";

const child = fileURLToPath(new URL("compare-child.ts", import.meta.url));
const KILLS = 20;
const SESSIONS = 20;

/** Without times, which differ. */
function timeless(report: string): unknown {
  const { totals, ...comparison } = JSON.parse(report) as Comparison;
  const { ms: _, ...rest } = totals;
  return JSON.parse(
    JSON.stringify({ ...comparison, rest }, (key, value: unknown) => (key === "ms" ? 0 : value)),
  );
}

it(
  "gives the same report after it was killed at random moments",
  { timeout: 300_000 },
  async () => {
    const dir = await mkdtemp(join(tmpdir(), "turnlog-kills-"));
    try {
      const store = join(dir, "recorded");
      await using log = await openLog({ dir: store });
      for (let index = 0; index < SESSIONS; index++) {
        const model = scriptedModel([calling(call("lookup", "1", { order: 1 })), "It is paid."]);
        const lookup = tool({
          inputSchema: z.object({ order: z.number() }),
          execute: async () => "paid",
        });
        await using runtime = await createRuntime({ log, agent: { model, tools: { lookup } } });
        const session = await runtime.session(`s${index}`);
        await (
          await session.send("Is it paid?")
        ).result;
      }
      await log.close();
      const run = promisify(execFile);
      const began = performance.now();
      const whole = await run(process.execPath, [child, store, join(dir, "whole")]);
      const took = performance.now() - began;
      const results = join(dir, "killed");
      for (let kill = 0; kill < KILLS; kill++) {
        const killed = spawn(process.execPath, [child, store, results], { stdio: "ignore" });
        const ended = once(killed, "exit");
        await Promise.race([
          ended,
          new Promise((resume) => setTimeout(resume, Math.random() * took)),
        ]);
        killed.kill("SIGKILL");
        await ended;
      }
      const resumed = await run(process.execPath, [child, store, results]);
      expect(timeless(resumed.stdout)).toEqual(timeless(whole.stdout));
      expect(JSON.parse(whole.stdout)).toMatchObject({
        counts: { runs: SESSIONS, different: SESSIONS },
      });
    } finally {
      await rm(dir, { recursive: true, force: true });
    }
  },
);
