/**
 * The studio over a store with many sessions, large results, failures, branches, and texts that reorder what is around
 * them. In Chromium.
 */

import { tool } from "ai";
import type { Route } from "playwright-core";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { createRuntime, type Session } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { describeAll } from "../browser/in-browser.ts";
import { eventually } from "../support/eventually.ts";
import { patience } from "../support/runs.ts";
import { stageOfFile } from "./stage-of-file.ts";
import type { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

const SESSIONS = 120;
const quota = new Error("The quota of the key is used up");
const rows = Array.from({ length: 3_000 }, (_, row) => `Row ${row} of the table`);

/** Reversed, it looks like another file. */
const REORDERING = "rm \u202Etxt.oot\u202C \u2066x\u2069";

async function fill(dir: string): Promise<void> {
  const model = scriptedModel([
    { parts: [{ type: "tool-call", toolCallId: "a", toolName: "table", input: {} }] },
    { parts: [{ type: "text", deltas: ["There are many."] }] },
    {
      parts: [
        { type: "text", deltas: ["Half of it, "] },
        { type: "break", error: quota },
      ],
    },
    { parts: [{ type: "text", deltas: ["To the sea."] }] },
    { parts: [{ type: "text", deltas: ["To the hills."] }] },
    { parts: [{ type: "text", deltas: ["Not at all."] }] },
    {
      parts: [
        { type: "text", deltas: [`I run ${REORDERING}.`] },
        { type: "tool-call", toolCallId: "b", toolName: "shell", input: { command: REORDERING } },
      ],
    },
  ]);
  const anything = z.looseObject({});
  const tools = {
    table: tool({ inputSchema: anything, execute: () => rows }),
    shell: tool({ inputSchema: anything, execute: () => "" }),
  };
  await using runtime = await createRuntime({
    dir,
    agent: {
      model,
      maxRetries: 0,
      tools,
      toolApproval: { shell: "user-approval" },
      context: { cut: false },
    },
  });
  const open = async (id: string): Promise<Session> =>
    await runtime.session(id, { metadata: { tenant: "acme", userId: `ann ${REORDERING}` } });
  const send = async (session: Session, text: string, replaces?: string): Promise<string> => {
    const turn = await session.send(text, replaces === undefined ? {} : { replaces });
    await turn.untilRest().catch(() => {});
    return turn.messageId;
  };
  await send(await open("large"), "Show the table");
  await send(await open("broken"), "Go on");
  const branches = await open("branches");
  const where = await send(branches, "Where do we go?");
  await send(branches, "And if it rains?", where);
  await send(branches, "Is it far?");
  await send(await open("reordered"), `Run ${REORDERING}`);
  for (let index = 0; index < SESSIONS; index++) await runtime.session(`empty-${index}`);
}

let stage: StudioStage;
stageOfFile((opened) => {
  stage = opened;
}, fill);

describeAll("a list of many sessions", () => {
  it("draws those in sight alone, and reaches the last one by keys", async () => {
    const page = await stage.page();
    await page.waitForSelector(`text=${SESSIONS + 4} sessions`);
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

describeAll("a failed turn", () => {
  it("says why in the conversation, in the head and where sessions are compared", async () => {
    const page = await stage.page("#/sessions/broken");
    await page.waitForSelector(`.message-foot >> text=${quota.message}`);
    await page.waitForSelector(`.head-about >> text=${quota.message}`);
    await stage.go(page, "#/compare?left=broken&right=large");
    await page.waitForSelector(`.step-card >> text=${quota.message}`);
    expect(stage.faults).toEqual([]);
  });
});

describeAll("branches of one session", () => {
  it("are compared like two sessions, from the branch that is looked at", async () => {
    const page = await stage.page("#/sessions/branches");
    await page.getByLabel("The branch before").first().click();
    await page.click("text=Compare with the active one");
    await page.waitForSelector(".pair");
    const cards = page.locator(".pair:not(.pair-head)");
    expect(await cards.locator(".pair-title").allTextContents()).toEqual([
      "Step 1 another prompt",
      "Step 2 on one side only",
    ]);
    expect(await cards.first().locator(".step-card").allTextContents()).toEqual([
      expect.stringContaining("To the sea."),
      expect.stringContaining("To the hills."),
    ]);
    await page.reload();
    await page.waitForSelector(".side-title >> text=a branch that was left");
    await stage.go(page, "#/sessions/branches");
    await page.click("#acts");
    await page.click("text=Compare with another session or branch");
    await page.click("text=The active branch with the one");
    await page.waitForSelector(".side-title >> text=the active branch");
  });
});

describeAll("text that reorders what is around it", () => {
  it("shows its escapes everywhere, on the card of an approval first", async () => {
    const page = await stage.page("#/sessions/reordered");
    const call = page.locator(".call-approval-requested");
    await call.waitFor();
    const escaped = String.raw`rm \u202Etxt.oot\u202C \u2066x\u2069`;
    expect(await call.locator(".call-input").textContent()).toBe(escaped);
    expect(await call.locator(".json-string").textContent()).toBe(escaped);
    for (const view of ["chat", "events", "prompt", "state", "steps"]) {
      await stage.go(page, `#/sessions/reordered?view=${view}`);
      await page.waitForSelector(".figures");
      await page.waitForSelector(".panel-time .spinner", { state: "detached" });
      const drawn = await page.content();
      expect(drawn).toContain(escaped);
      expect(drawn, view).not.toMatch(/[\u202A-\u202E\u2066-\u2069]/u);
    }
  });
});

describeAll("the events of a call", () => {
  it("are one row that opens, and stands for the position within it", async () => {
    const page = await stage.page("#/sessions/large?view=events");
    const call = page.locator(".event-row", { hasText: "tool call" });
    await call.locator("text=table").waitFor();
    const before = await page.locator(".event-row").count();
    await call.locator(".call-toggle").click();
    await page.waitForSelector(".event-row >> text=tool.succeeded");
    expect(await page.locator(".event-row").count()).toBeGreaterThan(before);
    await page.click(".event-row >> text=tool.succeeded");
    await page.focus("[role=listbox]");
    await page.click("text=calls as one row");
    await page.click("text=calls as one row");
    await page.locator(".call-toggle").click();
    await page.waitForSelector(".event-row >> text=tool.succeeded", { state: "detached" });
    expect(await page.locator('.event-row[aria-selected="true"]').textContent()).toContain(
      "tool call",
    );
    expect(await page.textContent(".event-detail h2")).toBe("tool.succeeded");
    await page.click(".call-rows >> text=part.tool-call");
    await page.waitForSelector(".event-detail h2 >> text=part.tool-call");
  });
});

describeAll("a page of 390 pixels", () => {
  it("has the buttons that step, by events and by steps", async () => {
    const page = await stage.page("", { width: 390 });
    await stage.go(page, "#/sessions/large?view=state");
    for (const [name, type] of [
      ["One step back", "step.started"],
      ["One event on", "part.start-step"],
      ["One event back", "step.started"],
      ["One step back", "step.started"],
      ["One step on", "step.started"],
    ] as const) {
      await page.getByRole("button", { name }).click();
      await page.waitForSelector(`.machine b >> text=${type}`);
    }
    const widest = await page.evaluate(() => document.documentElement.scrollWidth);
    expect(widest).toBe(390);
  });
});
