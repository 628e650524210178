/** Why a session cost so much, what was dearest, why the cache missed, and what changed: by the studio alone. In Chromium. */

import { jsonSchema, tool } from "ai";
import type { Page } from "playwright-core";
import { expect, it, vi } from "vitest";
import { dropOldest, manual } from "../../src/context/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { describeAll } from "../browser/in-browser.ts";
import { billedClient } from "../providers/billed-client.ts";
import { patience } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { stageOfFile } from "./stage-of-file.ts";
import type { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

const words = (tokens: number, of: string): string =>
  `${of} `.repeat(2 * tokens).slice(0, tokens * 4);

/** A long result in the first turn, other instructions before the third, a compaction before the fourth. */
async function fill(dir: string): Promise<void> {
  const model = billedClient("anthropic", Date.now, true).model(
    scriptedModel([
      calling(call("look", "a", { file: "large.ts" })),
      calling(call("look", "b", { file: "small.ts" })),
      "Seen.",
      "Two.",
      "Three.",
      "Four.",
    ]),
  );
  const agentWith = (instructions: string): Agent => ({
    model,
    instructions,
    tools: {
      look: tool({
        description: words(1200, "look"),
        inputSchema: jsonSchema<{ file: string }>({ type: "object" }),
        execute: ({ file }) => words(file === "large.ts" ? 9000 : 1000, file),
      }),
    },
    context: { compact: { when: manual(), how: dropOldest({ keepTurns: 1 }) } },
  });
  const rules = words(1500, "rule");
  for (const [instructions, messages] of [
    [`Be brief.\n${rules}`, ["One?", "Two?"]],
    [`Be polite.\n${rules}`, ["Three?"]],
  ] as const) {
    await using runtime = await createRuntime({ dir, agent: agentWith(instructions) });
    const session = await runtime.session("deployed");
    for (const message of messages) await (await session.send(message)).result;
    if (messages.length > 1) continue;
    await session.compact();
    await (
      await session.send("Four?")
    ).result;
  }
}

let stage: StudioStage;
stageOfFile((opened) => {
  stage = opened;
}, fill);

const opened = async (): Promise<Page> => {
  const page = await stage.page("#/sessions/deployed");
  await page.keyboard.press("6");
  await page.waitForSelector(".bill");
  return page;
};

describeAll("the bill of a session", () => {
  it("says what the turns and the dearest result cost, as the head does, and leads to the result", async () => {
    const page = await opened();
    const total = await page.textContent(".bill-total");
    expect(total).toContain(" measured by the provider");
    const head = await page.locator(".figures dd").last().textContent();
    expect(total?.startsWith(`${head} `)).toBe(true);
    expect(await page.locator(".bill-turn summary b:first-child").allTextContents()).toEqual([
      "Turn 1",
      "Turn 2",
      "Turn 3",
      "Turn 4",
    ]);
    expect(await page.locator(".bill-call").count()).toBe(6);
    const dearest = page.locator(".bill-list li").first();
    expect(await dearest.textContent()).toMatch(
      /^\$0\.\d+Result of look, step 1 \{"file":"large.ts"\} about [\d,]+ tokens in each of 4 calls/u,
    );
    await dearest.getByText("Result of look").click();
    await page.waitForSelector(".event-detail >> text=tool.succeeded");
    expect(await page.textContent(".event-detail")).toContain("large.ts");
  });

  it("computes it without a compaction, without a cache, and with another model", async () => {
    const page = await opened();
    const computed = page.locator(".bill-computed");
    const saying = async (words: RegExp): Promise<void> => {
      await expect.poll(async () => await computed.textContent()).toMatch(words);
    };
    await page.getByLabel(/the compaction at \d+/u).check();
    await saying(/^Computed, not paid: \$0\.\d+ instead of \$0\.\d+, \$0\.\d+ more/u);
    await page.getByLabel(/the compaction at \d+/u).uncheck();
    await page.getByLabel("Cache").selectOption("off");
    await saying(/more\. [\d.]+k tokens in, 0 of them from the cache/u);
    await page.getByLabel("Cache").selectOption("as it was");
    await page.getByLabel("Model").fill("claude-haiku-4-5");
    await page.keyboard.press("Enter");
    await saying(/ less\. /u);
    await page.getByLabel("Model").fill("nobody:nothing");
    await page.keyboard.press("Enter");
    await saying(/no price of this model is known/u);
    expect(stage.faults).toEqual([]);
  });

  it("leads from a miss of the cache to its event, and to what a deployment changed", async () => {
    const page = await opened();
    const deployment = page.locator(".bill-list li", { hasText: "Deployment: " });
    expect(await deployment.textContent()).toMatch(/Deployment: instructions changed See/u);
    await deployment.getByText("See what changed").click();
    await page.waitForSelector(".change >> text=instructions");
    await page.goBack();
    const miss = page.locator(".bill-list li", { hasText: "the instructions changed" });
    expect(await miss.textContent()).toMatch(
      /^\$0\.\d+Step 5: the instructions changed at \d+. [\d.k]+ tokens not read, \$0\.\d+ more/u,
    );
    await miss.getByText("See what changed").click();
    await page.waitForSelector(".change >> text=instructions");
    expect(await page.textContent(".lines")).toBe("− Be brief.\n+ Be polite.\n");
    await page.goBack();
    await miss.getByText(/^at \d+/u).click();
    await page.waitForSelector(".event-detail >> text=session.configured");
  });

  it("is that of the position, and is asked without activating the session", async () => {
    const before = await stage.runtime.log.revision("deployed");
    const page = await stage.page("#/sessions/deployed?position=3&view=bill");
    await page.waitForSelector("text=No call was paid for yet");
    await stage.go(page, "#/sessions/deployed?position=40&view=bill");
    await page.waitForSelector(".bill >> text=Paid up to");
    expect(await page.locator(".bill-turn").count()).toBe(1);
    expect(await stage.runtime.log.revision("deployed")).toBe(before);
  });

  it("is beside the steps by turn, and beside the list of all sessions by model", async () => {
    const page = await stage.page("#/sessions/deployed?view=steps");
    await page.waitForSelector(".turn-dollars >> text=Turn 4");
    expect(await page.textContent(".step-words")).toMatch(
      /^Step 6 of turn 4: finished.* · \$0\.\d+/u,
    );
    await page.keyboard.press("h");
    await page.click("text=Who pays");
    const row = page.locator(".who-pays tbody tr");
    expect(await row.textContent()).toMatch(/^anthropic\.messages:claude-sonnet-4-5\$0\.\d{3}6/u);
    await page.getByLabel("By").selectOption("tenant");
    await page.waitForSelector(".who-pays th >> text=none");
    expect(stage.faults).toEqual([]);
  });
});
