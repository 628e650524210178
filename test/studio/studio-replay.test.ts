/** The studio plays a recorded session again, and leads a first visitor to something to see. In Chromium. */

import type { Page } from "playwright-core";
import { expect, it, vi } from "vitest";
import { describeAll } from "../browser/in-browser.ts";
import { eventually } from "../support/eventually.ts";
import { patience } from "../support/runs.ts";
import { stageOfFile } from "./stage-of-file.ts";
import type { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

let stage: StudioStage;
stageOfFile((opened) => {
  stage = opened;
});

const hashOf = async (page: Page): Promise<string> => await page.evaluate(() => location.hash);

/** From now on, the page's timers run when the test says so: a busy machine comes late to nothing. */
async function stopTime(page: Page): Promise<void> {
  await page.clock.install({ time: 0 });
  await page.clock.pauseAt(1_000);
}

/** Lets time pass in the page until something has happened. */
async function timePasses(page: Page, assertion: () => Promise<void>): Promise<void> {
  await eventually(async () => {
    await page.clock.runFor(20);
    await assertion();
  });
}

describeAll("a recorded session", () => {
  it("plays to its live end, stops where a person pauses, and adds no event", async () => {
    const { log } = stage.runtime;
    const before = await log.revision("right-to-left");
    const page = await stage.page("#/sessions/right-to-left");
    await page.waitForSelector(".figures");
    await stopTime(page);
    await page.click("[aria-label='Play the recording']");
    await timePasses(page, async () =>
      expect(await hashOf(page)).toMatch(/position=(?:[3-9]|\d\d)/u),
    );
    await page.keyboard.press("p");
    const paused = await hashOf(page);
    await page.waitForSelector("[aria-label='Play the recording']");
    await page.clock.runFor(60_000);
    expect(await hashOf(page)).toBe(paused);
    await page.keyboard.press("p");
    await page.waitForSelector("[aria-label=Pause]");
    await timePasses(page, async () => expect(await page.locator(".live.is-live").count()).toBe(1));
    await page.waitForSelector("[aria-label='Play the recording']");
    expect(await hashOf(page)).toBe("#/sessions/right-to-left");
    expect(await log.revision("right-to-left")).toBe(before);
  });

  it("plays no session that a person went to meanwhile", async () => {
    const page = await stage.page("#/sessions/right-to-left?position=2");
    await page.waitForSelector(".figures");
    await stopTime(page);
    await page.keyboard.press("p");
    await page.waitForSelector("[aria-label=Pause]");
    await stage.go(page, "#/sessions/plan-a-trip?position=5");
    await page.clock.runFor(60_000);
    await page.waitForSelector("[aria-label='Play the recording']");
    expect(await hashOf(page)).toBe("#/sessions/plan-a-trip?position=5");
  });

  it("leaves a person the position that they type", async () => {
    const page = await stage.page("#/sessions/right-to-left?position=2");
    await page.waitForSelector(".figures");
    await stopTime(page);
    await page.keyboard.press("p");
    await page.keyboard.press("g");
    await page.keyboard.type("7");
    await timePasses(page, async () =>
      expect(await hashOf(page)).toMatch(/position=(?:[3-9]|\d\d)/u),
    );
    await page.keyboard.type("0");
    expect(await page.inputValue("#go-to")).toBe("70");
    await page.keyboard.press("Backspace");
    await page.keyboard.press("Enter");
    await page.keyboard.press("p");
    expect(await hashOf(page)).toBe("#/sessions/right-to-left?position=7");
    expect(await page.inputValue("#go-to")).toBe("7");
  });

  it("writes a fast move into the address once: browsers refuse many changes in a short time", async () => {
    const page = await stage.page("#/sessions/right-to-left?position=1&view=events");
    await page.waitForSelector(".figures");
    const changes: unknown = await page.evaluate(`{
      let changes = 0;
      const replace = history.replaceState.bind(history);
      history.replaceState = (...change) => { changes += 1; replace(...change); };
      for (let press = 0; press < 20; press++)
        document.body.dispatchEvent(new KeyboardEvent("keydown", { key: "ArrowRight", bubbles: true }));
      new Promise((resolve) => setInterval(() => location.hash.includes("position=1&") || resolve(changes), 20));
    }`);
    expect(changes).toBe(1);
  });
});

describeAll("a replay with the agent", () => {
  it("says that the agent repeats the session, or what differs first and in which step", async () => {
    const { runtime } = stage;
    const session = await runtime.session("replayed");
    await (
      await session.send("Hello")
    ).result;
    const before = await runtime.log.revision("replayed");
    const page = await stage.page("#/sessions/replayed");
    const replay = async (): Promise<string> => {
      await page.click("#acts");
      await page.click("text=Replay with the agent");
      return (await page.textContent("dialog .verdict")) ?? "";
    };
    expect(await replay()).toContain(`Equal: the agent repeats ${before} events`);
    await page.keyboard.press("Escape");
    await session.configure({ instructions: "Answer in rhymes." });
    const configured = await runtime.log.revision("replayed");
    expect(await replay()).toContain("The instructions");
    await page.click("text=Go to position");
    await page.waitForSelector(".event-detail");
    expect(await runtime.log.revision("replayed")).toBe(configured);
    expect(stage.faults).toEqual([]);
  });
});

describeAll("the first page", () => {
  it("leads to a call that waits, to the prompt of a step, and to a fork beside its origin", async () => {
    const page = await stage.page();
    await page.click("text=A call waits for your answer");
    await page.waitForSelector(".question >> text=Approve");
    await page.keyboard.press("h");
    await page.click("text=See exactly what a step was sent");
    await page.waitForSelector(".prompt-body");
    expect(await page.textContent(".prompt-agent")).toMatch(/instructions and \d+ tools/);
    await page.keyboard.press("h");
    await page.click("text=Compare a fork with its origin");
    await page.waitForSelector(".pair-head");
    expect(stage.faults).toEqual([]);
  });
});
