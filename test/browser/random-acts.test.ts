/**
 * Two tenants in Chromium, each with two tabs of a chat of the same name, who act at random while connections are lost,
 * the server is killed, and tabs are shut out. In the end each page shows what the log says, the log is whole, and no
 * page has ever shown a word of the other tenant.
 */

import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { expect, it, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/random.ts";
import { lot, patience, times } from "../support/runs.ts";
import { describeAll } from "./in-browser.ts";
import { edit, say } from "./page-acts.ts";
import { comparable, Stage } from "./stage.ts";

vi.setConfig({ testTimeout: patience });

/** 200 with `TURNLOG_LONG=2`. */
const ACTS = times(24, 100);
const PAUSE_MS = 300;
/** Messages of a page that was loaded. */
const LOADED = 50;

interface Tab {
  readonly name: string;
  readonly page: Page;
}

type Act = (tab: Tab, text: string) => Promise<unknown>;

describeAll("two tenants in Chromium", () => {
  it(`show each tenant its own chat after ${ACTS} acts at random`, async () => {
    const random = seededRandom(`two tenants ${lot}`);
    const stage = await Stage.open();
    const foreign: string[] = [];
    const opened = async (name: string, other: string): Promise<Tab> => {
      const onText = (text: string): void => {
        if (text.includes(other)) foreign.push(text);
      };
      return { name, page: await stage.page("trip", "follow", { tab: name, onText }) };
    };
    const tabs = [
      await opened("acme.1", "bolt"),
      await opened("acme.2", "bolt"),
      await opened("bolt.1", "acme"),
      await opened("bolt.2", "acme"),
    ] as const;
    let shut: Tab | undefined;
    const letIn = async (): Promise<void> => {
      stage.shutOut([]);
      if (shut !== undefined) await stage.reload(shut.page);
      shut = undefined;
    };
    const drawn: readonly [Act, ...Act[]] = [
      ({ page }, text) => say(page, text),
      // A second message, which waits while the first one is answered.
      async ({ page }, text) => {
        await say(page, text);
        await say(page, `next ${text}`);
      },
      async ({ page }, text) => {
        if (await isReady(page)) await edit(page, text);
      },
      async ({ page }) => {
        if (await isReady(page)) await page.evaluate(() => void chat.regenerate());
      },
      ({ page }) => page.evaluate(() => void stop().catch(() => {})),
      async (tab) => {
        if (tab !== shut) await stage.reload(tab.page);
      },
      async () => stage.front.drop(),
      async () => {
        await stage.kill();
        await stage.start();
      },
      async (tab) => {
        if (shut !== undefined) return await letIn();
        shut = tab;
        stage.shutOut([tab.name]);
      },
    ];
    for (let act = 0; act < ACTS; act++) {
      const tab = random.pick(tabs);
      // A refused act is an error on the page, and its user loads it again.
      if (tab !== shut && (await tab.page.evaluate(() => chat.status === "error")))
        await stage.reload(tab.page);
      const verb = random.pick(["say", "tell 60", "tell 150", "work"]);
      await random.pick(drawn)(tab, `${verb} ${tab.name} ${act}`);
      await tab.page.waitForTimeout(random.below(PAUSE_MS));
    }
    await letIn();
    for (const { name, page } of tabs)
      await eventually(async () => {
        if (await page.evaluate(() => chat.status === "error")) await stage.reload(page);
        const [status, shown] = await page.evaluate(() => [chat.status, chat.messages] as const);
        const logged = await stage.logged("trip", name);
        expect(status).toBe("ready");
        expect(shown.length).toBeGreaterThanOrEqual(Math.min(LOADED, logged.length));
        expect(shown.map(shownAs)).toEqual(logged.slice(-shown.length).map(shownAs));
        const last: unknown = logged.at(-1)?.metadata;
        expect(last).toHaveProperty("endPosition");
      }, 200);
    expect(foreign).toEqual([]);
    const { problems, sessions } = await stage.verified();
    expect([problems, sessions.flatMap((each) => each.problems)]).toEqual([[], []]);
    expect(sessions).toHaveLength(2);
    await stage.close();
  });
});

/** Whether the buttons of its messages are on. */
const isReady = (page: Page): Promise<boolean> =>
  page.evaluate(() => chat.status === "ready" && chat.messages.length > 0);

/** A page keeps the id of a message that it edits. */
const shownAs = (message: UIMessage): object =>
  comparable({ ...message, id: message.id.replace(/~\d+$/u, "") });
