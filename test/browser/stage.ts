/** A browser, a front and a server that can be killed, for one file of tests. */

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import type { UIMessage } from "ai";
import { chromium, type Browser, type Page } from "playwright-core";
import { build } from "rolldown";
import { expect } from "vitest";
import type { Chat } from "@ai-sdk/react";
import { bundled } from "../support/bundled.ts";
import { eventually } from "../support/eventually.ts";
import { openLog, verifyLog } from "../../src/public/index.ts";
import { Front } from "./front.ts";

const places = ["/usr/bin/chromium", "/usr/bin/chromium-browser", "/usr/bin/google-chrome"];

/** The browser of this machine; undefined without one. Nothing is installed. */
export const browserPath: string | undefined =
  process.env["TURNLOG_CHROMIUM"] ?? places.find((place) => existsSync(place));

/** What a skipped test says. */
export const browserAbsent =
  "skipped, no Chromium here (`apt-get install chromium`, or set TURNLOG_CHROMIUM to its path)";

/** What the page puts on `globalThis`. */
declare global {
  var chat: Chat<UIMessage>;
  var errors: readonly string[];
  var stop: () => Promise<void>;
  var unmount: () => void;
}

export class Stage {
  readonly front: Front;
  readonly #dir: string;
  /** A folder, or the address of a database. */
  readonly #store: string;
  readonly #program: string;
  readonly #browser: Browser;
  #server: ChildProcess | undefined;
  #shut: readonly string[] = [];

  private constructor(
    { dir, store, program }: { dir: string; store: string; program: string },
    front: Front,
    browser: Browser,
  ) {
    this.#dir = dir;
    this.#store = store;
    this.#program = program;
    this.front = front;
    this.#browser = browser;
  }

  /** `database`: the servers keep their sessions there. Default: in a folder. */
  static async open(database?: string): Promise<Stage> {
    const dir = await mkdtemp(join(tmpdir(), "turnlog-browser-test-"));
    const program = await bundled(new URL("chat-server.ts", import.meta.url), join(dir, "program"));
    const guide = join(dir, "program", "guide.tsx");
    await writeFile(guide, await guideCode());
    const front = new Front(
      new Map([
        ["/", await bundledPage(fileURLToPath(new URL("page/page.ts", import.meta.url)))],
        ["/guide", await bundledPage(guide)],
      ]),
    );
    await front.listen();
    const browser = await chromium.launch({
      executablePath: browserPath ?? "",
      args: [
        "--headless",
        "--no-sandbox",
        "--disable-gpu",
        "--disable-quic",
        "--no-first-run",
        "--disable-background-networking",
        "--disable-component-update",
        "--disable-sync",
      ],
    });
    const store = database ?? join(dir, "store");
    const stage = new Stage({ dir, store, program }, front, browser);
    await stage.start();
    return stage;
  }

  /** Starts the server, on the port that it had before. */
  async start(): Promise<void> {
    const { server, port } = await this.#launch(this.front.target);
    this.#server = server;
    this.front.target = port;
    server.send(this.#shut);
  }

  /** Lets in all tabs but these, whose streams end. */
  shutOut(tabs: readonly string[]): void {
    this.#shut = tabs;
    this.#server?.send(tabs);
  }

  /** Starts another server on the database, and returns what kills the first one and leads the front to the other. */
  async startBeside(): Promise<() => Promise<void>> {
    const { server, port } = await this.#launch(0);
    return async () => {
      await this.kill();
      this.#server = server;
      this.front.target = port;
    };
  }

  async #launch(wanted: number): Promise<{ readonly server: ChildProcess; readonly port: number }> {
    const args = [this.#store, String(wanted)];
    const server = fork(this.#program, args, { stdio: ["ignore", "inherit", "inherit", "ipc"] });
    const [{ port }] = (await once(server, "message")) as [{ port: number }];
    return { server, port };
  }

  async kill(): Promise<void> {
    const server = this.#server;
    if (server === undefined) return;
    this.#server = undefined;
    server.kill("SIGKILL");
    await once(server, "exit");
  }

  /** The page of docs/web.md. */
  async guide(id: string): Promise<Page> {
    const page = await this.#browser.newPage();
    await page.goto(`${this.front.url}/guide?id=${id}`);
    return page;
  }

  /** A page with a chat, loaded. Without `tab`, `<tenant>.<digit>`, an operator's. `onText` gets all that it shows. */
  async page(
    id: string,
    settings = "",
    { tab, onText }: { tab?: string; onText?: (text: string) => void } = {},
  ): Promise<Page> {
    const page = await this.#browser.newPage();
    if (tab !== undefined)
      await page.context().addCookies([{ name: "tab", value: tab, url: this.front.url }]);
    if (onText !== undefined) {
      await page.exposeFunction("onText", onText);
      await page.addInitScript({ content: tellTexts });
    }
    await page.goto(`${this.front.url}/?id=${id}&${settings}`);
    await page.waitForFunction(() => "chat" in globalThis);
    return page;
  }

  async reload(page: Page): Promise<void> {
    await page.reload();
    await page.waitForFunction(() => "chat" in globalThis);
  }

  /** The messages that the server folds from its log. */
  async logged(id: string, tab = ""): Promise<readonly UIMessage[]> {
    const cookie = tab === "" ? {} : { cookie: `tab=${tab}` };
    const headers = { authorization: "Bearer token", ...cookie };
    const at = `http://127.0.0.1:${this.front.target}/api/chat/${id}/messages?limit=500`;
    const { messages } = (await (await fetch(at, { headers })).json()) as { messages: UIMessage[] };
    return messages;
  }

  /** Kills the server, and verifies what it has left in its folder. */
  async verified(): ReturnType<typeof verifyLog> {
    await this.kill();
    await using log = await openLog({ dir: this.#store });
    return await verifyLog(log);
  }

  async close(): Promise<void> {
    await this.#browser.close();
    await this.front.close();
    await this.kill();
    await rm(this.#dir, { recursive: true, force: true });
  }
}

/** A page as one script. */
export async function bundledPage(input: string): Promise<string> {
  const client = fileURLToPath(new URL("../../src/public/client.ts", import.meta.url));
  const { output } = await build({
    input,
    platform: "browser",
    write: false,
    logLevel: "silent",
    resolve: { alias: { "turnlog/client": client } },
    // React mounts components twice in development.
    transform: { define: { "process.env.NODE_ENV": '"development"' } },
    output: { format: "esm", codeSplitting: false },
  });
  return output[0].code.replaceAll("</script", "<\\/script");
}

/** The page that docs/web.md shows. */
async function guideCode(): Promise<string> {
  const text = await readFile(new URL("../../docs/web.md", import.meta.url), "utf8");
  return /```tsx\n(.*?)```/su.exec(text)?.[1] ?? "";
}

/** Waits until the page has so many messages, nothing runs, and the last reply is whole. */
export async function settled(page: Page, count: number): Promise<void> {
  await page.waitForFunction((messages) => {
    const last = chat.messages.at(-1);
    const isWhole = JSON.stringify(last?.metadata ?? {}).includes("endPosition");
    return chat.messages.length === messages && chat.status === "ready" && isWhole;
  }, count);
}

/** Waits until the page has so many messages and is at rest: it shows what the log says, and showed no error. */
export async function expectLogged(
  stage: Stage,
  page: Page,
  id: string,
  count: number,
): Promise<readonly UIMessage[]> {
  // A page that was loaded rests with its history before it resumes the last reply from its start.
  return await eventually(async () => {
    await settled(page, count);
    const [shown, errors] = await page.evaluate(() => [chat.messages, globalThis.errors] as const);
    expect(errors).toEqual([]);
    expect(shown.map(comparable)).toEqual((await stage.logged(id)).map(comparable));
    return shown;
  });
}

/** In the page: tells all texts that it shows. */
const tellTexts = `new MutationObserver(() => onText(document.body?.textContent ?? ""))
  .observe(document, { subtree: true, childList: true, characterData: true });`;

/** A page adds no metadata to a user's message, and gives another id to none of ours. */
export function comparable({ id, role, parts, metadata }: UIMessage): object {
  return role === "user" ? { id, role, parts } : { id, role, parts, metadata };
}

/** Waits until the text of the reply to the last message has so many characters. */
export async function written(page: Page, length: number): Promise<void> {
  await page.waitForFunction((least) => {
    const last = chat.messages.at(-1);
    // Until the reply begins, an earlier one is the newest.
    const parts = last?.role === "assistant" ? last.parts : [];
    return parts.reduce((sum, part) => sum + ("text" in part ? part.text.length : 0), 0) >= least;
  }, length);
}
