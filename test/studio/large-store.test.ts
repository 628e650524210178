/** The studio over many sessions and large results: what it draws, what it searches, what it leaves out. In Chromium. */

import { tool } from "ai";
import type { Route } from "playwright-core";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { describeAll } from "../browser/in-browser.ts";
import { eventually } from "../support/eventually.ts";
import { patience } from "../support/runs.ts";
import { stageOfFile } from "./stage-of-file.ts";
import type { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

const SESSIONS = 120;
const rows = Array.from({ length: 3_000 }, (_, row) => `Row ${row} of the table`);

async function fill(dir: string): Promise<void> {
  const model = scriptedModel([
    { parts: [{ type: "tool-call", toolCallId: "a", toolName: "table", input: {} }] },
    { parts: [{ type: "text", deltas: ["There are many."] }] },
    { failure: new Error("The quota of the key is used up") },
  ]);
  const table = tool({ inputSchema: z.object({}), execute: () => rows });
  await using runtime = await createRuntime({
    dir,
    agent: { model, maxRetries: 0, tools: { table }, context: { cut: false } },
  });
  const send = async (id: string, text: string): Promise<void> => {
    const session = await runtime.session(id, { metadata: { tenant: "acme", userId: "ann" } });
    await (await session.send(text)).untilRest().catch(() => {});
  };
  await send("large", "Show the table");
  await send("broken", "Go on");
  for (let index = 0; index < SESSIONS; index++) await runtime.session(`empty-${index}`);
}

let stage: StudioStage;
stageOfFile((opened) => {
  stage = opened;
}, fill);

describeAll("a list of many sessions", () => {
  it("draws those in sight alone, and reaches the last one by keys", async () => {
    const page = await stage.page();
    await page.waitForSelector(`text=${SESSIONS + 2} sessions`);
    expect(await page.locator(".session-row").count()).toBeLessThan(40);
    await page.focus("[role=tree]");
    await page.keyboard.press("End");
    await page.waitForSelector('.session-row[aria-selected="true"]');
    await page.waitForSelector(".session-row >> text=Show the table");
  });

  it("says that it searches until the server has answered, and finds what a badge shows", async () => {
    const page = await stage.page();
    const held: Route[] = [];
    await page.route(/[?&]search=/u, (route) => void held.push(route), { times: 1 });
    await page.fill("#session-search", "failed tenant:acme");
    await page.waitForSelector(".side-filter >> text=Searching…");
    const route = await eventually(() => {
      const [first] = held;
      if (first === undefined) throw new Error("The page has not asked yet.");
      return first;
    });
    expect(await page.locator(".session-row").count()).toBeGreaterThan(1);
    expect(await page.locator("text=Nothing found").count()).toBe(0);
    await route.continue();
    await page.waitForSelector(".side-filter >> text=/^1 session$/");
    const row = page.locator(".session-row");
    expect(await row.textContent()).toMatch(
      /Go on.*failed.*acme · ann.*The quota of the key is used up/su,
    );
    await page.fill("#session-search", "no such session");
    await page.waitForSelector("text=Nothing found");
  });
});

describeAll("a large result", () => {
  it("is cut in the prompt until a person asks for all of it", async () => {
    const page = await stage.page("#/sessions/large?view=prompt");
    const sizes: number[] = [];
    page.on("response", async (response) => {
      if (/\/(?:prompt|diff)\?/u.test(response.url())) sizes.push((await response.body()).length);
    });
    await page.click("text=Whole prompt");
    const message = page.locator(".prompt-message.role-tool");
    await message.locator("text=[100]").waitFor();
    await eventually(() => expect(sizes.length).toBeGreaterThan(0));
    expect(Math.max(...sizes)).toBeLessThan(20_000);
    await message.locator("text=Show all").click();
    await message.locator(`text=[${rows.length}]`).waitFor();
    await page.click("text=Changes");
    const change = page.locator(".change .prompt-message.role-tool");
    await change.locator("text=Show all").click();
    await change.locator(`text=[${rows.length}]`).waitFor();
    expect(await change.locator("text=Show all").count()).toBe(0);
  });
});
