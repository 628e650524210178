/** The studio as a person meets it: built, served over the demo's store, in a headless Chromium. */

import { execFile } from "node:child_process";
import { existsSync } from "node:fs";
import { mkdtemp, readdir, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { chromium, type Browser, type BrowserContext, type Page } from "playwright-core";
import { demoAgent } from "../../src/cli/demo/demo-agent.ts";
import { makeDemoStore } from "../../src/cli/demo/demo-store.ts";
import { createRuntime, type Runtime, type RuntimeOptions } from "../../src/public/index.ts";
import { serveNode, type NodeServer } from "../../src/public/server.ts";
import { browserPath } from "../browser/stage.ts";
import { patience } from "../support/runs.ts";

/** What of the page's globals the tests and the bench use: both are checked without the types of browsers. */
declare global {
  interface Shown {
    getAttribute(name: string): string | null;
  }
  var getComputedStyle: (
    element: object,
    pseudo?: string,
  ) => { readonly outlineStyle: string; readonly backgroundColor: string };
  var location: { hash: string };
  var requestAnimationFrame: (then: (time: number) => void) => number;
  var document: {
    readonly activeElement: { readonly id: string } | null;
    readonly documentElement: { readonly scrollWidth: number };
    querySelector(selector: string): {
      scrollTop: number;
      readonly scrollHeight: number;
      dispatchEvent(event: Event): boolean;
    } | null;
    querySelectorAll(selector: string): ArrayLike<Shown> & Iterable<Shown>;
  };
}

const root = fileURLToPath(new URL("../../", import.meta.url));

async function newest(folder: string): Promise<number> {
  const files = await readdir(join(root, folder), { recursive: true });
  const times = await Promise.all(
    files.map(async (file) => (await stat(join(root, folder, file))).mtimeMs),
  );
  return Math.max(0, ...times);
}

/** Builds the studio unless the build is newer than its sources. */
async function builtStudio(): Promise<void> {
  const page = join(root, "dist/studio/index.html");
  const builtAt = existsSync(page) ? (await stat(page)).mtimeMs : 0;
  const changedAt = Math.max(
    ...(await Promise.all(["studio", "src/client", "src/ui", "src/projections"].map(newest))),
  );
  if (builtAt > changedAt) return;
  await promisify(execFile)(process.execPath, [join(root, "studio/build.ts")], { cwd: root });
}

export class StudioStage {
  readonly dir: string;
  readonly runtime: Runtime;
  server: NodeServer;
  /** What the pages asked of other servers, and what failed in them. */
  readonly faults: string[] = [];
  readonly #browser: Browser;
  readonly #contexts: BrowserContext[] = [];

  private constructor(dir: string, runtime: Runtime, server: NodeServer, browser: Browser) {
    this.dir = dir;
    this.runtime = runtime;
    this.server = server;
    this.#browser = browser;
  }

  /** @param fill - Makes the store. Default: the demo's. */
  static async open(
    fill: (dir: string) => Promise<unknown> = (dir) => makeDemoStore(dir, Date.now()),
    options: Pick<RuntimeOptions, "encryption"> = {},
  ): Promise<StudioStage> {
    await builtStudio();
    const dir = await mkdtemp(join(tmpdir(), "turnlog-studio-test-"));
    await fill(dir);
    const runtime = await createRuntime({
      dir,
      agent: demoAgent(),
      ...options,
      recovery: "continue",
      graceMs: 1,
    });
    const server = await serveNode(runtime, { port: 0, studio: true });
    const browser = await chromium.launch({
      executablePath: browserPath ?? "",
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--no-first-run",
        "--disable-background-networking",
      ],
    });
    return new StudioStage(dir, runtime, server, browser);
  }

  /** A new browser, signed in by a ticket, at a place of the studio. */
  async page(
    hash = "",
    options: {
      readonly width?: number;
      readonly dark?: boolean;
      readonly contrast?: boolean;
      readonly forcedColors?: boolean;
    } = {},
  ): Promise<Page> {
    const context = await this.#browser.newContext({
      viewport: { width: options.width ?? 1280, height: 800 },
      colorScheme: options.dark === true ? "dark" : "light",
      contrast: options.contrast === true ? "more" : "no-preference",
      forcedColors: options.forcedColors === true ? "active" : "none",
      reducedMotion: "reduce",
    });
    this.#contexts.push(context);
    const page = await context.newPage();
    // A busy machine takes longer than the browser's own limits.
    page.setDefaultTimeout(patience);
    page.on("request", (request) => {
      const url = request.url();
      if (!url.startsWith(this.server.url) && !url.startsWith("data:"))
        this.faults.push(`asked ${url}`);
    });
    page.on("pageerror", (error) => this.faults.push(`threw ${error.message}`));
    page.on("console", (message) => {
      if (message.type() === "error") this.faults.push(`said ${message.text()}`);
    });
    page.on("dialog", (dialog) => {
      this.faults.push(`opened ${dialog.message()}`);
      void dialog.dismiss();
    });
    await page.goto(`${this.server.studioUrl()}${hash}`);
    await page.waitForSelector(".session-row, .side .blank-title", { state: "attached" });
    return page;
  }

  /** The server ends; later it starts again at the same address, with the same token. */
  async outage(meanwhile: () => Promise<void>): Promise<void> {
    const { port, token } = this.server;
    await this.server.close("it starts again", 200);
    await meanwhile();
    const same = token === undefined ? {} : { token };
    this.server = await serveNode(this.runtime, { port, studio: true, ...same });
  }

  /** Goes to another place in the page, without loading it again. */
  async go(page: Page, hash: string): Promise<void> {
    await page.evaluate((to) => {
      location.hash = to;
    }, hash);
  }

  async close(): Promise<void> {
    for (const context of this.#contexts) await context.close();
    await this.#browser.close();
    await this.server.close("the test is over", 200);
    await this.runtime.close();
    await rm(this.dir, { recursive: true, force: true });
  }
}
