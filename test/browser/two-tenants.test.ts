/**
 * Two tenants in Chromium, each with two tabs of a chat of the same name, who act at random while connections are lost,
 * the server is killed, and tenants are shut out. In the end each page shows what the log says, and no page has ever
 * shown a word of the other tenant.
 */

import type { Page } from "playwright-core";
import { expect, it, vi } from "vitest";
import { eventually } from "../support/eventually.ts";
import { seededRandom } from "../support/random.ts";
import { long, lot, patience } from "../support/runs.ts";
import { describeAll } from "./in-browser.ts";
import { edit, say } from "./page-acts.ts";
import { comparable, Stage } from "./stage.ts";

vi.setConfig({ testTimeout: patience });

const ACTS = long ? 200 : 60;
const TENANTS = ["acme", "bolt"] as const;
const PAUSE_MS = 300;

type Act = (page: Page, text: string, tenant: string) => Promise<unknown>;

describeAll("two tenants in Chromium", () => {
  it(`show each tenant its own chat after ${ACTS} acts at random`, async () => {
    const random = seededRandom(`two tenants ${lot}`);
    const stage = await Stage.open();
    const foreign: string[] = [];
    const tab = async (tenant: string): Promise<{ tenant: string; page: Page }> => {
      const others = TENANTS.filter((other) => other !== tenant);
      const onText = (text: string): void =>
        void foreign.push(...others.filter((other) => text.includes(other)));
      return { tenant, page: await stage.page("trip", "follow", { tenant, onText }) };
    };
    const tabs = [
      await tab("acme"),
      await tab("acme"),
      await tab("bolt"),
      await tab("bolt"),
    ] as const;
    let shut: string | undefined;
    const letIn = async (): Promise<void> => {
      const left = tabs.filter(({ tenant }) => tenant === shut);
      shut = undefined;
      stage.shutOut();
      for (const { page } of left) await stage.reload(page);
    };
    const isReady = (page: Page): Promise<boolean> =>
      page.evaluate(() => chat.status === "ready" && chat.messages.length > 0);
    const acts = {
      send: (page: Page, text: string) => say(page, text),
      edit: async (page: Page, text: string) => {
        if (await isReady(page)) await edit(page, text);
      },
      regenerate: async (page: Page) => {
        if (await isReady(page)) await page.evaluate(() => void chat.regenerate().catch(() => {}));
      },
      approve: (page: Page) => approve(page, random.chance(0.7)),
      stop: (page: Page) => page.evaluate(() => void stop().catch(() => {})),
      reload: async (page: Page, _: string, tenant: string) => {
        if (tenant !== shut) await stage.reload(page);
      },
      cut: async () => stage.front.drop(),
      kill: async () => {
        await stage.kill();
        await stage.start();
      },
      revoke: async (_: Page, __: string, tenant: string) => {
        if (shut !== undefined) return await letIn();
        shut = tenant;
        stage.shutOut(tenant);
      },
    };
    const { send, approve: answered } = acts;
    const drawn: readonly [Act, ...Act[]] = [send, send, answered, ...Object.values<Act>(acts)];
    for (let act = 0; act < ACTS; act++) {
      const { tenant, page } = random.pick(tabs);
      const what = random.pick(drawn);
      const text = `${random.pick(["say", "tell 60", "tell 150", "pay 5", "work"])} ${tenant} ${act}`;
      await what(page, text, tenant);
      await page.waitForTimeout(random.below(PAUSE_MS));
    }
    await letIn();
    for (const { page, tenant } of tabs)
      await eventually(async () => {
        // A refused act is an error on the page, and its user loads it again.
        if (await page.evaluate(() => chat.status === "error")) await stage.reload(page);
        const [status, shown] = await page.evaluate(() => [chat.status, chat.messages] as const);
        const logged = await stage.logged("trip", tenant);
        expect(status).toBe("ready");
        expect(logged.length).toBeGreaterThan(0);
        expect(shown.map(comparable)).toEqual(logged.slice(-shown.length).map(comparable));
      });
    expect(foreign).toEqual([]);
    await stage.close();
  });
});

/** Answers what waits on the page, if it does. */
async function approve(page: Page, approved: boolean): Promise<void> {
  await page.evaluate((given) => {
    for (const part of chat.messages.at(-1)?.parts ?? [])
      if ("state" in part && part.state === "approval-requested" && "approval" in part)
        if (chat.status === "ready")
          void chat.addToolApprovalResponse({ id: part.approval.id, approved: given });
  }, approved);
}
