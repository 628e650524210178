/**
 * The example of Next.js as a user builds it: the packed package, a real `next build` and `next start`, a killed
 * server, its page in Chromium. npm installs Next.js, so only in long runs.
 */

import { execFile, spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { cp, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { readUIMessageStream, type UIMessage } from "ai";
import { chromium } from "playwright-core";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { chatTransport, createClient } from "../../src/public/client.ts";
import { browserAbsent, browserPath } from "../browser/stage.ts";
import { cleanEnvironment } from "../cli/command-line.ts";
import { packed } from "../support/packed.ts";
import { long } from "../support/runs.ts";

const run = promisify(execFile);
const needs = long ? "" : " (needs `npm run test:long`, which installs Next.js)";
const example = new URL("../../examples/next", import.meta.url);
let folder = "";
let app = "";
let env: NodeJS.ProcessEnv = {};

interface Started {
  readonly child: ChildProcess;
  readonly url: string;
}

async function started(port = "0"): Promise<Started> {
  const next = join(app, "node_modules/next/dist/bin/next");
  const child = spawn(process.execPath, [next, "start", "--port", port], { cwd: app, env });
  let said = "";
  child.stdout.setEncoding("utf8").on("data", (text: string) => (said += text));
  for (;;) {
    const [, url] = /(http:\/\/localhost:\d+)/.exec(said) ?? [];
    if (url !== undefined && said.includes("Ready")) return { child, url };
    await once(child.stdout, "data");
  }
}

async function killed({ child }: Started): Promise<void> {
  const exited = once(child, "exit");
  child.kill("SIGKILL");
  await exited;
}

const text = (message: UIMessage | undefined): string =>
  (message?.parts ?? []).map((part) => (part.type === "text" ? part.text : "")).join("");

describe.skipIf(!long)(`the example of Next.js${needs}`, () => {
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), "turnlog-next-"));
    app = join(folder, "app");
    env = {
      ...cleanEnvironment({}),
      NEXT_TELEMETRY_DISABLED: "1",
      TURNLOG_DIR: join(app, "store"),
    };
    const { file } = await packed(folder);
    await cp(example, app, { recursive: true });
    const manifest = z
      .looseObject({ dependencies: z.record(z.string(), z.string()) })
      .parse(JSON.parse(await readFile(join(app, "package.json"), "utf8")));
    manifest.dependencies["turnlog"] = file;
    await writeFile(join(app, "package.json"), JSON.stringify(manifest));
    // Slow enough to be killed in the middle of a reply.
    const sessions = join(app, "app/sessions.ts");
    const code = await readFile(sessions, "utf8");
    await writeFile(sessions, code.replace("offlineModel()", "offlineModel({ delay: 50 })"));
    await run("npm", ["install", "--no-audit", "--no-fund"], { cwd: app, env });
    await run("npm", ["run", "build"], { cwd: app, env });
  });
  afterAll(async () => await rm(folder, { recursive: true, force: true }));

  it("serves its page, chats, and after a kill shows the reply again", async () => {
    const first = await started();
    const page = await (await fetch(first.url)).text();
    expect(page).toContain("<main>");
    const transport = chatTransport(createClient({ baseUrl: first.url }));
    const message: UIMessage = { id: "m", role: "user", parts: [{ type: "text", text: "Hello" }] };
    const stream = await transport.sendMessages({
      chatId: "first",
      messages: [message],
      trigger: "submit-message",
      messageId: undefined,
      abortSignal: undefined,
    });
    let reply: UIMessage | undefined;
    for await (const one of readUIMessageStream({ stream })) reply = one;
    expect(text(reply)).not.toBe("");
    await killed(first);
    const second = await started();
    const client = createClient({ baseUrl: second.url });
    const { messages } = await client.session("first").messages();
    expect(messages.map(text)).toEqual(["Hello", text(reply)]);
    await killed(second);
  });

  it.skipIf(browserPath === undefined)(
    `continues in its page after a kill in the middle of a reply, with every word once${browserPath === undefined ? ` (${browserAbsent})` : ""}`,
    async () => {
      const first = await started();
      const session = createClient({ baseUrl: first.url }).session("first");
      const [, known] = (await session.messages()).messages;
      const browser = await chromium.launch({
        executablePath: browserPath ?? "",
        args: ["--headless", "--no-sandbox", "--disable-gpu"],
      });
      try {
        const page = await browser.newPage();
        await page.goto(first.url);
        await page.fill("input", "Hello");
        await page.click("text=Send");
        const reply = page.locator("[data-role=assistant]").nth(1);
        await reply.filter({ hasText: text(known).slice(0, 10) }).waitFor();
        await killed(first);
        expect(await reply.textContent()).not.toBe(text(known));
        const second = await started(new URL(first.url).port);
        const expected = ["Hello", text(known), "Hello", text(known)];
        const shown = page.locator("[data-role]");
        await expect.poll(() => shown.allTextContents()).toEqual(expected);
        await page.reload();
        await expect.poll(() => shown.allTextContents()).toEqual(expected);
        expect((await session.messages()).messages.map(text)).toEqual(expected);
        await killed(second);
      } finally {
        await browser.close();
      }
    },
  );
});
