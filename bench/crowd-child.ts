/**
 * A process of its own with many sessions at once on one runtime, as the soak test runs them:
 * `node --expose-gc bench/crowd-child.ts <dir> <sessions> <steps>` prints what that took.
 */

import { monitorEventLoopDelay } from "node:perf_hooks";
import { openLog } from "../src/public/index.ts";
import { runCrowd } from "../test/soak/crowd.ts";
import { mark } from "./meter.ts";

const [dir = "", sessions = "", steps = ""] = process.argv.slice(2);
const MEGABYTE = 1024 * 1024;
const crowd = { sessions: Number(sessions), steps: Number(steps), seed: "bench" };

function heapUsed(): number {
  globalThis.gc?.();
  return process.memoryUsage().heapUsed / MEGABYTE;
}

const log = await openLog({ dir, durability: "os" });
// What all sessions share is loaded and compiled before.
await runCrowd({ log, ...crowd, sessions: 10, seed: "warm-up" });
const heapBefore = heapUsed();
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const start = mark();
const done = await runCrowd({ log, ...crowd });
const end = mark();
delay.disable();
const measured = {
  steps: done.steps,
  cancels: done.cancels,
  steers: done.steers,
  cpuMsPerStep: (end.cpuMs - start.cpuMs) / done.steps,
  wallMs: end.wallMs - start.wallMs,
  peakMegabytes: process.resourceUsage().maxRSS / 1024,
  keptMegabytes: heapUsed() - heapBefore,
  delayMs: { median: delay.percentile(50) / 1e6, p99: delay.percentile(99) / 1e6 },
};
await log.close();
process.stdout.write(`${JSON.stringify(measured)}\n`);
