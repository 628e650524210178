/** What a changed agent did on recorded sessions, from the list to one step beside the other: by the studio. In Chromium. */

import { jsonSchema, tool } from "ai";
import { expect, it, vi } from "vitest";
import { compare } from "../../src/compare/index.ts";
import { scriptedModel, type ScriptedStep } from "../../src/models/index.ts";
import { createRuntime, type Agent } from "../../src/public/index.ts";
import { describeAll } from "../browser/in-browser.ts";
import { png } from "../support/media.ts";
import { patience } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { axeFaults } from "./axe-faults.ts";
import { stageOfFile } from "./stage-of-file.ts";
import type { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

const agentOf = (...script: readonly (ScriptedStep | string)[]): Agent => ({
  model: scriptedModel([...script]),
  instructions: "You help.",
  tools: {
    lookup: tool({ inputSchema: jsonSchema({ type: "object" }), execute: () => ({ total: 6 }) }),
  },
});

/** So large that it is kept as a blob. */
const picture = png({ width: 90, height: 60, seed: 1 });

const lookup = (order: number): ScriptedStep => calling(call("lookup", "a", { order }));

/** The candidate does the same on `equal`, says more on `wordy`, and looks up another order on `missed`. */
async function fill(dir: string): Promise<void> {
  const agent = agentOf(...["equal", "wordy", "missed"].flatMap(() => [lookup(16), "It is 6."]));
  await using runtime = await createRuntime({ dir, agent });
  for (const id of ["equal", "wordy", "missed"])
    await (
      await (
        await runtime.session(id)
      ).send([
        { type: "text", text: "What is order 16?" },
        { type: "file", data: picture, mediaType: "image/png", filename: "order.png" },
      ])
    ).result;
  const { log } = runtime;
  const script = { equal: "It is 6.", wordy: "I find that it is 6.", missed: "It is 7." };
  for (const [session, text] of Object.entries(script))
    await compare(log, {
      experiment: "a/cheaper",
      results: log,
      onMiss: () => ({ output: { total: 7 } }),
      scores: { brief: ({ turns }) => 20 - (turns[0]?.text.length ?? 0) },
      sessions: [session],
      agent: agentOf(lookup(session === "missed" ? 17 : 16), text),
    });
}

/** Of a picture that was read. */
async function naturalWidth(element: object): Promise<unknown> {
  await (element as { readonly decode: () => Promise<void> }).decode();
  return Reflect.get(element, "naturalWidth");
}

function hiddenWidth(element: object): number {
  return Number(Reflect.get(element, "scrollWidth")) - Number(Reflect.get(element, "clientWidth"));
}

let stage: StudioStage;
stageOfFile((opened) => {
  stage = opened;
}, fill);

describeAll("experiments", () => {
  it("are a list, then figures and runs, then one run beside the recording, with links to both", async () => {
    const page = await stage.page();
    await page.keyboard.press("x");
    const entry = page.locator(".suggestions button");
    expect(await entry.textContent()).toMatch(/^a\/cheaper3 sessions, 3 runs, /u);
    await entry.focus();
    await page.keyboard.press("Enter");
    await page.waitForSelector("h1 >> text=a/cheaper");
    expect(await page.textContent(".head")).toContain(
      "turnlog:scripted, 3 sessions, 3 runs, 1 call without a recorded answer. Runs that failed, or that the budget ended, are not kept.",
    );
    expect(await page.locator(".verdicts li").allTextContents()).toEqual([
      "equal 1 33 % (6 to 79)",
      "better 0 0 % (0 to 56)",
      "worse 1 33 % (6 to 79)",
      "different 1 33 % (6 to 79)",
      "stopped 0 0 % (0 to 56)",
    ]);
    const figures = page.locator(".experiment tbody tr");
    expect(await figures.nth(0).textContent()).toBe("Score brief128-4-21.21 to 13.21");
    expect(await figures.nth(1).textContent()).toBe("Steps2200 to 0");
    const runs = page.locator(".runs li");
    expect(await runs.allTextContents()).toEqual([
      "equalequal Score brief: 12 → 12",
      expect.stringMatching(
        /^misseddifferent .*Score brief: 12 → 12Step 1: no recorded answer to lookup \{"order":17\} function$/u,
      ),
      'wordyworse Step 2 says "I find that it is 6.", the recording said "It is 6.".Score brief: 12 → 0',
    ]);
    await page.getByText("Only what differs").click();
    expect(await runs.count()).toBe(2);
    await page.getByRole("button", { name: "wordy" }).click();
    await page.waitForSelector("h1 >> text=wordy");
    const pairs = page.locator("section[aria-label='Turn 1'] .pair");
    expect(await pairs.nth(0).textContent()).toBe(
      "Turn 1What is order 16?\n[order.png]finishedfinished",
    );
    expect(await page.getByAltText("order.png").evaluate(naturalWidth)).toBe(90);
    const call = 'step 1, tool-callslookup {"order":16} succeeded → {"total":6}';
    expect(await pairs.nth(1).textContent()).toBe(`${call}${call}`);
    expect(await pairs.nth(2).textContent()).toBe(
      'step 2, stopIt is 6.step 2, stopI find that it is 6.≠ Step 2 says "I find that it is 6.", the recording said "It is 6.".',
    );
    await page.reload();
    await page.locator(".side-title >> text=Candidate").getByRole("button").click();
    await page.waitForSelector(".message-assistant >> text=I find that it is 6.");
    expect(page.url()).toContain("#/sessions/a-cheaper%2Fwordy%2F1");
    await page.goBack();
    await page.locator(".side-title >> text=Recorded").getByRole("button").click();
    await page.waitForSelector(".message-assistant >> text=It is 6.");
    expect(page.url()).toContain("#/sessions/wordy");
    expect(stage.faults).toEqual([]);
  });

  it.each([
    { width: 390, dark: true },
    { width: 1280, dark: false },
  ])("fit the page, and axe finds nothing: $width pixels, dark $dark", async (look) => {
    const page = await stage.page("", look);
    await page.getByRole("button", { name: "Experiments" }).click();
    const fits = async (): Promise<void> => {
      expect(await page.locator(".scroll:has(.experiment)").evaluate(hiddenWidth)).toBe(0);
      expect(await axeFaults(page)).toEqual([]);
    };
    await page.locator(".suggestions button").waitFor();
    await fits();
    await page.locator(".suggestions button").click();
    await page.getByRole("button", { name: "missed" }).waitFor();
    await fits();
    await page.getByRole("button", { name: "missed" }).click();
    await page.waitForSelector(".differences");
    await fits();
  });
});
