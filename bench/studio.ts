/**
 * `npm run bench:studio`: how soon the studio lists and searches 2,000 sessions, shows a prompt of megabytes and
 * sessions of 100,000 events in Chromium, how fast one moves through them, and what following a stream of 200 deltas
 * a second costs. With `-- many`, the first two alone. Times on a clock need an idle machine; beside them is the CPU
 * time of the page's thread, which other programs change less.
 */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { mkdtemp, readdir, readFile, rm } from "node:fs/promises";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createInterface } from "node:readline";
import { fileURLToPath } from "node:url";
import { gzipSync } from "node:zlib";
import { chromium, type CDPSession, type Page } from "playwright-core";
import { makeManySessions, makeStore } from "./studio-store.ts";

const POSITIONS = 100;
const FRAMES = 120;
const LIVE_MS = 8_000;
const PATIENCE_MS = 180_000;

const root = fileURLToPath(new URL("../", import.meta.url));
execFileSync(process.execPath, [join(root, "studio/build.ts")], { cwd: root });
let address = "";

await withStudio(makeManySessions, manySessions);
if (process.argv[2] !== "many")
  await withStudio(makeStore, async (page, debug, child) => {
    for (const session of ["streamed", "calls"]) await measure(page, debug, session);
    await follow(page, debug, child);
    say("the page, gzipped", (await gzipped()) / 1_000, "kB", 250);
  });

async function withStudio(
  make: (dir: string) => Promise<void>,
  run: (page: Page, debug: CDPSession, child: ChildProcess) => Promise<void>,
): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), "turnlog-bench-studio-"));
  await make(dir);
  const child = spawn(process.execPath, [join(root, "bench/studio-child.ts"), dir], {
    stdio: ["pipe", "pipe", "inherit"],
  });
  for await (const line of createInterface({ input: child.stdout })) {
    address = line;
    break;
  }
  const browser = await chromium.launch({
    executablePath: process.env["TURNLOG_CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--headless", "--no-sandbox", "--disable-gpu"],
  });
  try {
    const page = await browser.newPage({ viewport: { width: 1280, height: 800 } });
    page.setDefaultTimeout(PATIENCE_MS);
    const debug = await page.context().newCDPSession(page);
    await debug.send("Performance.enable", { timeDomain: "threadTicks" });
    console.log(`load of the machine ${loadavg()[0]?.toFixed(1)}`);
    await page.goto(address);
    await page.waitForSelector(".session-row");
    await run(page, debug, child);
    console.log(`load of the machine ${loadavg()[0]?.toFixed(1)}`);
  } finally {
    await browser.close();
    child.stdin.end();
    await once(child, "exit");
    await rm(dir, { recursive: true, force: true });
  }
}

async function manySessions(page: Page): Promise<void> {
  console.log("\n2,000 sessions");
  const took = async (act: () => Promise<unknown>): Promise<number> => {
    const from = performance.now();
    await act();
    return performance.now() - from;
  };
  const home = await took(async () => {
    await page.reload({ waitUntil: "commit" });
    await page.waitForSelector(".session-row");
  });
  say("  home", home, "ms", 1_000);
  // The server has read the rest of the list by then.
  await page.waitForTimeout(3_000);
  for (const [search, count] of [
    ["failed user:u-42", "3 sessions"],
    ["order 1999", "1 session"],
  ] as const) {
    const found = await took(async () => {
      await page.fill("#session-search", search);
      await page.waitForSelector(`.side-filter >> text=/^${count}$/`);
    });
    say(`  search ${search}`, found, "ms", 300);
  }
  await page.goto(`${new URL(address).origin}/#/sessions/large?view=state`);
  await page.waitForSelector(".state[data-position]");
  await page.waitForTimeout(1_000);
  const prompt = await took(async () => {
    await page.getByRole("tab", { name: "Prompt" }).click();
    await page.waitForSelector(".prompt-body[data-prompt]");
  });
  say("  a prompt of 6 MB", prompt, "ms", 500);
}

async function measure(page: Page, debug: CDPSession, session: string): Promise<void> {
  console.log(`\n${session}, 100,000 events`);
  let before = await busy(debug);
  const since = async (): Promise<number> => {
    const from = before;
    before = await busy(debug);
    return (before - from) * 1_000;
  };
  // The page is loaded anew at the session, as from a link.
  await page.goto(`${new URL(address).origin}/#/sessions/${session}?view=state`);
  const from = performance.now();
  await page.reload({ waitUntil: "commit" });
  // A page that is loaded anew counts from 0.
  before = 0;
  await page.waitForSelector(".message");
  say("  first messages", performance.now() - from, "ms", 1_000, await since());
  await page.waitForFunction(() => document.querySelector(".thread .spinner") === null);
  say("  all of it", performance.now() - from, "ms", undefined, await since());
  await page.waitForSelector(".state[data-position]");
  const last = Number(await page.locator(".scrubber input[type=range]").getAttribute("max"));
  await since();
  const times = await scrubbed(page, last);
  const each = (await since()) / POSITIONS;
  say("  a position, median", at(times, 0.5), "ms", undefined, each);
  say("  a position, p95", at(times, 0.95), "ms", 50);
  await page.evaluate((to) => {
    location.hash = to;
  }, `#/sessions/${session}?view=events`);
  await page.waitForSelector(".event-row");
  await page.waitForTimeout(500);
  await since();
  const frames = await scrolled(page);
  say("  longest frame of scrolling", at(frames, 1), "ms", 50, (await since()) / FRAMES);
  await debug.send("HeapProfiler.collectGarbage");
  const { usedSize } = await debug.send("Runtime.getHeapUsage");
  say("  heap", usedSize / 1e6, "MB", 150);
}

/** Milliseconds from a new place of the slider to its state on the page. Each place is far from the one before. */
async function scrubbed(page: Page, last: number): Promise<readonly number[]> {
  const times: number[] = [];
  for (let index = 0; index < POSITIONS; index++) {
    const position = 1 + ((index * 7_919_317) % last);
    times.push(
      await page.evaluate(
        (to) =>
          new Promise<number>((resolve, reject) => {
            const slider = document.querySelector(".scrubber input[type=range]");
            // React looks for a change of the value behind its own property.
            const own = slider === null ? null : Reflect.getPrototypeOf(slider);
            const value = own === null ? undefined : Reflect.getOwnPropertyDescriptor(own, "value");
            if (slider === null || value?.set === undefined) {
              reject(new Error("The page has no slider."));
              return;
            }
            const began = performance.now();
            value.set.call(slider, String(to));
            slider.dispatchEvent(new Event("input", { bubbles: true }));
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

/** Milliseconds of each frame while the list of events is scrolled far at each. */
async function scrolled(page: Page): Promise<readonly number[]> {
  return await page.evaluate(
    (frames) =>
      new Promise<readonly number[]>((resolve) => {
        const rows = document.querySelector(".event-rows");
        const times: number[] = [];
        let last = performance.now();
        const step = (): void => {
          const now = performance.now();
          times.push(now - last);
          last = now;
          const count = times.length;
          if (rows !== null)
            rows.scrollTop = (rows.scrollHeight * ((count * 37) % frames)) / frames;
          if (count < frames) requestAnimationFrame(step);
          else resolve(times.slice(2));
        };
        requestAnimationFrame(step);
      }),
    FRAMES,
  );
}

async function follow(page: Page, debug: CDPSession, { stdin }: ChildProcess): Promise<void> {
  console.log("\na turn that streams 200 deltas a second");
  stdin?.write("go\n");
  await page.goto(`${new URL(address).origin}/#/sessions/live`);
  await page.waitForSelector(".message-assistant >> text=word");
  const before = await busy(debug);
  const started = performance.now();
  await page.waitForTimeout(LIVE_MS);
  const share = ((await busy(debug)) - before) / ((performance.now() - started) / 1_000);
  say("  share of a core", share * 100, "%", 30);
}

/** CPU seconds of the page's thread. */
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

function say(what: string, value: number, unit: string, bar?: number, cpuMs?: number): void {
  const verdict = bar === undefined ? "" : value <= bar ? `(bar ${bar})` : `OVER the bar of ${bar}`;
  const cpu = cpuMs === undefined ? "" : `${cpuMs.toFixed(cpuMs < 10 ? 1 : 0)} ms of CPU`;
  const shown = value.toFixed(value < 10 ? 1 : 0).padStart(7);
  console.log(
    `${what.padEnd(32)} ${shown} ${unit.padEnd(3)} ${cpu.padEnd(16)} ${verdict}`.trimEnd(),
  );
}
