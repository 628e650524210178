/** The law of the studio: what it shows at a position is what `turnlog show` prints. In Chromium. */

import { expect, it, vi } from "vitest";
import { z } from "zod";
import { describeAll } from "../browser/in-browser.ts";
import { jsonLines, run } from "../cli/command-line.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { long, lot, patience } from "../support/runs.ts";
import { stageOfFile } from "./stage-of-file.ts";
import type { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

/** Positions that are drawn by lot; a long run takes every one. */
const POSITIONS = 200;

let stage: StudioStage;
stageOfFile((opened) => {
  stage = opened;
});

const shown = (value: number): string => new Intl.NumberFormat("en-US").format(value);

const shownState = z.looseObject({ value: z.unknown(), queue: z.array(z.unknown()) });
const shownUsage = z.looseObject({
  total: z.looseObject({ inputTokens: z.int(), outputTokens: z.int() }),
});
const shownMessage = z.looseObject({ role: z.string(), content: z.unknown() });

/** What `turnlog show --json` prints, beside the runtime that has the store open. */
async function printed(
  session: string,
  position: number,
  view: string,
): Promise<readonly unknown[]> {
  const words = ["show", session, "--json", "--view", view, "--position", `${position}`];
  const { code, stdout } = await run([...words, "--dir", stage.dir], { cwd: stage.dir });
  expect(code).toBe(0);
  return jsonLines(stdout);
}

describeAll("the studio over the demo's and the recorded sessions", () => {
  it("shows at drawn positions what `turnlog show` prints: state, prompt, tokens, queue", async () => {
    const page = await stage.page();
    const { log } = stage.runtime;
    for (const name of fixtureNames) await log.append(name, "none", await readFixture(name));
    const all: (readonly [string, number])[] = [];
    for await (const { session, revision } of log.list())
      for (let position = 1; position <= revision; position++) all.push([session, position]);
    const step = long ? 1 : all.length / POSITIONS;
    const drawn = Array.from(
      { length: Math.round(all.length / step) },
      (_, index) => all[(Math.floor(index * step) + lot) % all.length],
    ).filter((one) => one !== undefined);
    expect(drawn.length).toBeGreaterThanOrEqual(POSITIONS);
    for (const [session, position] of drawn) {
      const where = `${session} at ${position}`;
      const [state, usage] = [
        shownState.parse((await printed(session, position, "state"))[0]),
        shownUsage.parse((await printed(session, position, "usage"))[0]),
      ];
      await stage.go(page, `#/sessions/${session}?view=state&position=${position}`);
      await page.waitForSelector(`.state[data-position="${position}"]`);
      const value = await page.getAttribute(".active-states", "data-state");
      expect(JSON.parse(value ?? ""), where).toEqual(state.value);
      const tokens = await page.locator(".tokens td").allTextContents();
      const { inputTokens, outputTokens } = usage.total;
      expect([tokens[0], tokens[3]], where).toEqual([shown(inputTokens), shown(outputTokens)]);
      const queue = await page.textContent(".state section:nth-of-type(2) .count");
      expect(queue, where).toBe(String(state.queue.length));
      await stage.go(page, `#/sessions/${session}?view=prompt&position=${position}`);
      await page.click(`text=Next at ${shown(position)}`);
      await page.click("text=Whole prompt");
      // The changes have stood there for the same position.
      const messages = `.prompt-body[data-prompt="${position}"] .messages`;
      await page.waitForSelector(messages, { state: "attached" });
      const heads = await page.locator(".messages .prompt-message header").allTextContents();
      const [{ messages: prompt }] = z
        .tuple([z.looseObject({ messages: z.array(shownMessage) })])
        .parse(await printed(session, position, "prompt"));
      const expected = prompt.map(
        ({ role, content }, index) =>
          `${role}${index + 1}${shown(JSON.stringify(content).length)} characters`,
      );
      expect(heads, where).toEqual(expected);
    }
  });
});
