/**
 * `npm run bench:studio`: how soon the studio shows a session of 100,000 events in Chromium, how fast one moves
 * through it, and what following a stream of 200 deltas a second costs.
 */

import { execFileSync } from "node:child_process";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium, type CDPSession, type Page } from "playwright-core";
import { createRuntime, type Runtime } from "../src/public/index.ts";
import { serveNode } from "../src/public/server.ts";
import { scriptedModel } from "../src/public/testing.ts";

const EVENTS = 100_000;
const DELTAS = 390;
const POSITIONS = 100;
const LIVE_MS = 8_000;

const root = fileURLToPath(new URL("../", import.meta.url));
execFileSync(process.execPath, [join(root, "studio/build.ts")], { cwd: root });
const dir = await mkdtemp(join(tmpdir(), "turnlog-bench-studio-"));
const words = Array.from({ length: DELTAS }, (_, index) => (index % 9 === 0 ? "delta " : "words "));
let isLive = false;
/** A gate that opens by itself after 5 ms: 200 deltas a second. */
const pause = () =>
  ({
    type: "gate",
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    until: {
      // oxlint-disable-next-line unicorn/no-thenable
      then: <Result>(open: (value: unknown) => Result | PromiseLike<Result>) =>
        new Promise<void>((resolve) => setTimeout(resolve, 5)).then(open),
    } as PromiseLike<unknown>,
  }) as const;
const model = scriptedModel(() => ({
  parts: [
    {
      type: "text",
      deltas: isLive
        ? Array.from({ length: LIVE_MS / 2.5 }, () => ["live ", pause()]).flat()
        : words,
    },
  ],
}));

const runtime = await createRuntime({
  dir,
  durability: "os",
  agent: { model, context: { compact: false, prune: false } },
});
await fill(runtime);
const server = await serveNode(runtime, { port: 0, studio: true });
const browser = await chromium.launch({
  executablePath: process.env["TURNLOG_CHROMIUM"] ?? "/usr/bin/chromium",
  args: ["--headless", "--no-sandbox", "--disable-gpu"],
});
try {
  const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
  const from = performance.now();
  await page.goto(`${server.studioUrl()}#/sessions/big`);
  await page.waitForSelector(".message", { timeout: 120_000 });
  say("first messages of 100,000 events", performance.now() - from, "ms", 1_000);
  await page.waitForSelector(".figures", { timeout: 120_000 });
  await page.waitForSelector(".steps", { timeout: 120_000 });
  say("all of them", performance.now() - from, "ms");
  const last = await runtime.log.revision("big");
  const times = await scrubbed(page, last);
  say("a position, median", at(times, 0.5), "ms");
  say("a position, p95", at(times, 0.95), "ms", 50);
  say("longest frame of scrolling", await longestFrame(page), "ms", 50);
  const debug = await page.context().newCDPSession(page);
  await debug.send("HeapProfiler.collectGarbage");
  const { usedSize } = await debug.send("Runtime.getHeapUsage");
  say("heap", usedSize / 1e6, "MB", 150);
  isLive = true;
  const live = await runtime.session("live");
  await live.send("Go.");
  await page.goto(`${server.url}/#/sessions/live`);
  await page.reload();
  await page.waitForSelector(".message-assistant >> text=live live", { timeout: 60_000 });
  // CPU time of the page's thread: other programs of the machine do not count.
  await debug.send("Performance.enable", { timeDomain: "threadTicks" });
  const before = await busy(debug);
  const started = performance.now();
  await page.waitForTimeout(LIVE_MS);
  const share = ((await busy(debug)) - before) / ((performance.now() - started) / 1_000);
  say("following 200 deltas a second, share of a core", share * 100, "%", 30);
  await live.cancel();
  say("the page, gzipped", (await gzipped()) / 1_000, "kB", 250);
} finally {
  await browser.close();
  await server.close("the bench is over", 200);
  await runtime.close();
  await rm(dir, { recursive: true, force: true });
}

async function fill({ log }: Runtime): Promise<void> {
  const big = await runtime.session("big");
  while ((await log.revision("big")) < EVENTS)
    await (
      await big.send("Tell me more, at some length.")
    ).result;
}

/** Milliseconds from a new position to its state on the page. */
async function scrubbed(page: Page, last: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < POSITIONS; index++) {
    const position = 1 + ((index * 7_919_317) % last);
    times.push(
      await page.evaluate(
        (to) =>
          new Promise<number>((resolve) => {
            const began = performance.now();
            location.hash = `#/sessions/big?view=state&position=${to}`;
            const look = (): void => {
              if (document.querySelector(`.state[data-position="${to}"]`) === null)
                requestAnimationFrame(look);
              else resolve(performance.now() - began);
            };
            look();
          }),
        position,
      ),
    );
  }
  return times;
}

async function longestFrame(page: Page): Promise<number> {
  await page.evaluate(() => {
    location.hash = "#/sessions/big?view=events";
  });
  await page.waitForSelector(".event-row");
  await page.waitForTimeout(500);
  return await page.evaluate(
    () =>
      new Promise<number>((resolve) => {
        const rows = document.querySelector(".event-rows");
        let [frames, longest, last] = [0, 0, performance.now()];
        const step = (): void => {
          const now = performance.now();
          if (frames > 2) longest = Math.max(longest, now - last);
          last = now;
          if (rows !== null) rows.scrollTop = (rows.scrollHeight * ((frames * 37) % 120)) / 120;
          if (++frames < 120) requestAnimationFrame(step);
          else resolve(longest);
        };
        requestAnimationFrame(step);
      }),
  );
}

/** Seconds that the page's thread was busy. */
async function busy(debug: CDPSession): Promise<number> {
  const { metrics } = await debug.send("Performance.getMetrics");
  return metrics.find(({ name }) => name === "TaskDuration")?.value ?? 0;
}

async function gzipped(): Promise<number> {
  const folder = join(root, "dist/studio");
  const files = await readdir(folder, { recursive: true, withFileTypes: true });
  let bytes = 0;
  for (const file of files)
    if (file.isFile()) bytes += gzipSync(await readFile(join(file.parentPath, file.name))).length;
  return bytes;
}

function at(values: readonly number[], share: number): number {
  const sorted = values.toSorted((one, other) => one - other);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? 0;
}

function say(what: string, value: number, unit: string, bar?: number): void {
  const verdict =
    bar === undefined ? "" : value <= bar ? `  (bar ${bar})` : `  OVER the bar of ${bar}`;
  console.log(
    `${what.padEnd(48)} ${value.toFixed(value < 10 ? 1 : 0).padStart(7)} ${unit}${verdict}`,
  );
}
