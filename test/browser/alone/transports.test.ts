/**
 * The same acts by each transport of `useChat`: ours, and the AI SDK's over HTTP and over a WebSocket. With ours
 * nothing disturbs the page; with the others a lost connection is an error, and resuming brings the whole reply.
 */

import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { patience } from "../../support/runs.ts";
import { describeAll, isAll } from "../in-browser.ts";
import {
  answer,
  approvalOf,
  attach,
  counted,
  edit,
  giveOutput,
  outputAsked,
  say,
  textOf,
} from "../page-acts.ts";
import { browserPath, expectLogged, settled, Stage, written } from "../stage.ts";

vi.setConfig({ testTimeout: patience });

let stage: Stage;
let page: Page;
let id = "";
let chats = 0;

beforeAll(async () => {
  if (browserPath !== undefined && isAll) stage = await Stage.open();
}, patience);

afterAll(async () => {
  if (browserPath !== undefined && isAll) await stage.close();
}, patience);

const transports = ["ours", "default", "websocket"] as const;

for (const transport of transports)
  describeAll(`by the transport: ${transport}`, () => {
    async function open(settings = ""): Promise<void> {
      if (chats > 0) await page.close();
      id = `${transport}-${++chats}`;
      page = await stage.page(id, `transport=${transport}&${settings}`);
    }

    /** Waits until the page has so many messages of the log; with the SDK's transports it resumes after an error. */
    async function shows(count: number): Promise<readonly UIMessage[]> {
      if (transport === "ours") return await expectLogged(stage, page, id, count);
      return await eventually(async () => {
        await page.evaluate(() => (chat.status === "error" ? chat.resumeStream() : undefined));
        await settled(page, count);
        const shown = await page.evaluate(() => chat.messages);
        expect(shown.map(comparable)).toEqual((await stage.logged(id)).map(comparable));
        return shown;
      });
    }

    const last = async (count: number): Promise<string> =>
      JSON.stringify((await shows(count)).at(-1));

    it("continues after a lost connection in a text, with every word once", async () => {
      await open();
      await say(page, "tell 120");
      await written(page, 100);
      stage.front.drop();
      await shows(2);
      expect(await textOf(page)).toBe(counted(120));
    });

    it("edits a message twice, and continues", async () => {
      await open();
      await say(page, "tell 5");
      await shows(2);
      for (const [text, reply] of [
        ["tell 6", "reply-2"],
        ["tell 7", "reply-3"],
      ] as const) {
        await edit(page, text);
        await page.waitForFunction((wanted) => chat.messages.at(-1)?.id === wanted, reply);
        await settled(page, 2);
      }
      await say(page, "tell 8");
      await settled(page, 4);
      expect(await textOf(page)).toBe(counted(8));
      await stage.reload(page);
      expect(await last(4)).toContain("w7");
    });

    it("stops, and takes the next message", async () => {
      await open();
      await say(page, "tell 2000");
      await written(page, 100);
      if (transport === "ours") await page.evaluate(() => void stop());
      else {
        // It only leaves the stream, as a lost connection does.
        await page.evaluate(() => void chat.stop());
        await page.evaluate(stopTurn, id);
      }
      await page.waitForFunction(() => chat.status === "ready");
      await eventually(async () =>
        expect(JSON.stringify(await stage.logged(id))).toContain('"cancelled"'),
      );
      await say(page, "tell 3");
      await settled(page, 4);
      expect(await textOf(page)).toBe(counted(3));
      await stage.reload(page);
      await shows(4);
    });

    it.each([
      [true, "at once"],
      [false, "at once"],
      [true, "after a reload"],
      [false, "after a reload"],
      [true, "after a kill"],
    ])("answers an approval: %s, %s", async (approved, when) => {
      await open();
      await say(page, "pay 4");
      const asked = await approvalOf(page);
      if (when === "after a reload") {
        await stage.reload(page);
        // The page resumes beside an answer, and may show the question once more behind it.
        await page.evaluate(() => chat.resumeStream());
      }
      if (when === "after a kill") {
        await stage.kill();
        await stage.start();
      }
      expect(await approvalOf(page)).toBe(asked);
      await answer(page, asked, approved);
      expect((await last(2)).includes("paid 4")).toBe(approved);
    });

    it("shows the answer that another tab gave", async () => {
      await open();
      await say(page, "pay 9");
      const asked = await approvalOf(page);
      const other = await stage.page(id);
      expect(await approvalOf(other)).toBe(asked);
      await answer(other, asked, true);
      await expectLogged(stage, other, id, 2);
      await other.close();
      await page.evaluate(() => void chat.resumeStream());
      expect(await last(2)).toContain("paid 9");
    });

    it.each(["at once", "after a reload"])(
      "gives the output of a client's tool %s",
      async (when) => {
        await open("calls");
        await say(page, "colour");
        await outputAsked(page);
        if (when === "after a reload") {
          await stage.reload(page);
          // A page that resumes takes the whole reply anew: an output given meanwhile would be lost.
          await page.evaluate(() => chat.resumeStream());
          await outputAsked(page);
        }
        await giveOutput(page, "blue");
        expect(await last(2)).toMatch(/The result is .*blue/);
      },
    );

    it("survives a kill in a tool", async () => {
      await open();
      await say(page, "work");
      await page.waitForFunction(() => JSON.stringify(chat.messages).includes("input-available"));
      await stage.kill();
      await stage.start();
      expect(await last(2)).toContain("worked");
    });

    it("sends an attachment, and shows it after a reload", async () => {
      await open();
      await attach(page);
      await settled(page, 2);
      await stage.reload(page);
      const [sent] = await shows(2);
      expect(sent?.parts).toContainEqual(expect.objectContaining({ filename: "a.txt" }));
    });

    it("sends what `experimental_queue` held back", async () => {
      await open("queue");
      await say(page, "tell 60");
      await written(page, 50);
      await say(page, "tell 7");
      await page.waitForFunction(() => chat.messages.at(-1)?.id === "reply-2");
      await shows(4);
      expect(await textOf(page)).toBe(counted(7));
    });

    it("shows a running reply once where React mounts twice", async () => {
      await open("strict");
      await say(page, "tell 150");
      await written(page, 100);
      await stage.reload(page);
      await shows(2);
      expect(await textOf(page)).toBe(counted(150));
    });

    it("catches up in a tab that slept", async () => {
      await open();
      await say(page, "tell 150");
      await written(page, 100);
      const session = await page.context().newCDPSession(page);
      await session.send("Page.setWebLifecycleState", { state: "frozen" });
      stage.front.drop();
      await eventually(async () =>
        expect(JSON.stringify(await stage.logged(id))).toContain("w149"),
      );
      await session.send("Page.setWebLifecycleState", { state: "active" });
      await shows(2);
      expect(await textOf(page)).toBe(counted(150));
    });
  });

function comparable({ id: messageId, role, parts }: UIMessage): object {
  return { messageId, role, parts };
}

async function stopTurn(chatId: string): Promise<void> {
  const headers = { authorization: "Bearer token" };
  await fetch(`/api/chat/${chatId}/stop`, { method: "POST", headers });
}
