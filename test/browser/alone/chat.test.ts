/**
 * An unmodified `useChat` in Chromium, while connections are lost and the server is killed: in the end the
 * page shows what the log says, and it never showed an error. `npm run test:browser` runs all; `npm test` one.
 */

import type { UIMessage } from "ai";
import type { Page } from "playwright-core";
import { afterAll, beforeAll, expect, it, vi } from "vitest";
import { patience, times } from "../../support/runs.ts";
import { describeAll, describeHere } from "../in-browser.ts";
import { answer, approvalOf, counted, edit, outputAsked, say, textOf } from "../page-acts.ts";
import { browserPath, expectLogged, settled, Stage, written } from "../stage.ts";

vi.setConfig({ testTimeout: patience });

/** Kills at moments that nobody chose. */
const KILLS = times(10);

let stage: Stage;
const pages: Page[] = [];
let chats = 0;

beforeAll(async () => {
  if (browserPath !== undefined) stage = await Stage.open();
}, patience);

afterAll(async () => {
  if (browserPath !== undefined) await stage.close();
}, patience);

/** A new chat in a new tab. */
async function opened(settings = ""): Promise<readonly [page: Page, id: string]> {
  for (const page of pages.splice(0)) await page.close();
  const id = `chat-${++chats}`;
  return [await tab(id, settings), id];
}

async function tab(id: string, settings = ""): Promise<Page> {
  const page = await stage.page(id, settings);
  pages.push(page);
  return page;
}

const expectSame = (page: Page, id: string, count: number): Promise<readonly UIMessage[]> =>
  expectLogged(stage, page, id, count);

/** Waits until the log's messages have a text. */
async function logs(id: string, text: string): Promise<void> {
  const messages = async (): Promise<string> => JSON.stringify(await stage.logged(id));
  await expect.poll(messages, { timeout: patience }).toContain(text);
}

describeHere("`useChat` in Chromium", () => {
  it("continues after a lost connection, with every word once", async () => {
    const [page, id] = await opened();
    await say(page, "tell 120");
    for (const length of [50, 150, 300]) {
      await written(page, length);
      stage.front.drop();
    }
    await expectSame(page, id, 2);
    expect(await textOf(page)).toBe(counted(120));
  });
});

describeAll("the page of docs/web.md in Chromium", () => {
  it("sends, streams, and asks for approval", async () => {
    const page = await stage.guide("guide");
    pages.push(page);
    await page.fill("input", "tell 20");
    await page.click("text=Send");
    await page.waitForSelector("text=w19");
    await page.fill("input", "pay 5");
    await page.click("text=Send");
    await page.click("text=Yes");
    await page.waitForSelector("text=paid 5");
    await page.reload();
    await page.waitForSelector("text=paid 5");
    expect(await page.locator("[role=alert]").count()).toBe(0);
    expect(await page.locator("section").count()).toBe(4);
  });
});

describeAll("a chat in Chromium", () => {
  it("shows the reply from its start when the page is loaded again", async () => {
    const [page, id] = await opened();
    await say(page, "tell 150");
    await written(page, 100);
    await stage.reload(page);
    await expectSame(page, id, 2);
    expect(await textOf(page)).toBe(counted(150));
  });

  it("is the same in two tabs", async () => {
    const [page, id] = await opened();
    await say(page, "tell 150");
    await written(page, 100);
    const other = await tab(id);
    await expectSame(other, id, 2);
    await expectSame(page, id, 2);
    await say(other, "tell 20");
    await expectSame(other, id, 4);
    await stage.reload(page);
    await expectSame(page, id, 4);
  });

  it("shows in a tab that follows what another one sends, queues, edits and answers", async () => {
    const [page, id] = await opened("follow");
    const other = await tab(id, "follow");
    await say(page, "tell 100");
    await written(other, 50);
    await say(page, "tell 7");
    await expectSame(page, id, 4);
    await expectSame(other, id, 4);
    await edit(page, "pay 5");
    const asked = await approvalOf(other);
    await answer(page, asked, true);
    await expectSame(other, id, 4);
    expect(await textOf(other)).toContain("paid 5");
    await say(other, "tell 9");
    await expectSame(other, id, 6);
    await expectSame(page, id, 6);
  });

  it("survives a kill of the server in the middle of a text", async () => {
    const [page, id] = await opened();
    await say(page, "tell 150");
    await written(page, 200);
    await stage.kill();
    await stage.start();
    const [, reply] = await expectSame(page, id, 2);
    expect(JSON.stringify(reply)).toContain("w149");
  });

  it("survives a kill of the server while an approval waits, and after the answer", async () => {
    const [page, id] = await opened();
    await say(page, "pay 3");
    const asked = await approvalOf(page);
    await stage.kill();
    await answer(page, asked, true);
    await stage.start();
    const [, reply] = await expectSame(page, id, 2);
    expect(JSON.stringify(reply)).toContain("paid 3");
  });

  it(`survives ${KILLS} kills at any moment`, async () => {
    const [page, id] = await opened();
    const killed = async (): Promise<void> => {
      await page.waitForTimeout(Math.random() * 400);
      await stage.kill();
      await stage.start();
    };
    for (let kill = 1; kill <= KILLS; kill++) {
      const text = ["pay 1", "tell 60", "work"][kill % 3] ?? "";
      await say(page, text);
      await killed();
      if (text === "pay 1") {
        await answer(page, await approvalOf(page), kill % 2 === 0);
        await killed();
      }
      await expectSame(page, id, kill * 2);
    }
  });

  it("regenerates a reply, and edits a message", async () => {
    const [page, id] = await opened();
    await say(page, "tell 10");
    await expectSame(page, id, 2);
    await page.evaluate(() => void chat.regenerate());
    await page.waitForFunction(() => chat.messages.at(-1)?.id === "reply-2");
    await expectSame(page, id, 2);
    await page.evaluate(() => {
      const [message] = chat.messages;
      void chat.sendMessage({ text: "tell 5", messageId: message?.id ?? "" });
    });
    await page.waitForFunction(() => chat.messages.at(-1)?.id === "reply-3");
    await settled(page, 2);
    const shown = await page.evaluate(() => chat.messages);
    const logged = await stage.logged(id);
    expect(shown.map(({ parts }) => parts)).toEqual(logged.map(({ parts }) => parts));
    expect(await textOf(page)).toBe(counted(5));
    expect(await page.evaluate(() => errors)).toEqual([]);
  });

  it("stops the turn by its stop", async () => {
    const [page, id] = await opened();
    await say(page, "tell 2000");
    await written(page, 100);
    await page.evaluate(() => stop());
    await logs(id, '"cancelled"');
    await expectSame(page, id, 2);
    await say(page, "work");
    await outputAsked(page, "streaming");
    await page.evaluate(() => stop());
    const shown = await expectSame(page, id, 4);
    expect(shown.at(-1)?.metadata).toMatchObject({ reason: "cancelled" });
    expect(JSON.stringify(shown.at(-1))).not.toContain('"input-available"');
    await say(page, "tell 3");
    await expectSame(page, id, 6);
    expect(await textOf(page)).toBe(counted(3));
  });

  it("continues with a reply when its component unmounts", async () => {
    const [page, id] = await opened();
    await say(page, "tell 150");
    await written(page, 100);
    await page.evaluate(() => unmount());
    await logs(id, '"endPosition"');
    await stage.reload(page);
    await expectSame(page, id, 2);
    expect(await textOf(page)).toBe(counted(150));
  });

  it("queues what is sent while a turn runs", async () => {
    const [page, id] = await opened();
    await say(page, "tell 100");
    await written(page, 50);
    await say(page, "tell 7");
    await page.waitForFunction(() => chat.messages.at(-1)?.id === "reply-2");
    await expectSame(page, id, 4);
    expect(await textOf(page)).toBe(counted(7));
  });
});

/** Reloads in the middle of a reply, then asks for another one. */
async function expectResumedAndRegenerated(page: Page, id: string): Promise<void> {
  await say(page, "tell 100");
  await written(page, 50);
  await stage.reload(page);
  await expectSame(page, id, 2);
  await page.evaluate(() => void chat.regenerate());
  await page.waitForFunction(() => chat.messages.at(-1)?.id === "reply-2");
  await expectSame(page, id, 2);
}

describeAll("the transport of the AI SDK in Chromium", () => {
  it("sends, regenerates and resumes", async () => {
    const [page, id] = await opened("transport=default");
    await expectResumedAndRegenerated(page, id);
  });

  it("shows an error when the server is killed, and all of the reply when it resumes", async () => {
    const [page, id] = await opened("transport=default");
    await say(page, "tell 150");
    await written(page, 100);
    await stage.kill();
    await page.waitForFunction(() => chat.status === "error");
    await stage.start();
    await page.evaluate(() => void chat.resumeStream());
    await page.waitForFunction(() => chat.status === "streaming");
    await settled(page, 2);
    const shown = await page.evaluate(() => chat.messages);
    expect(shown[1]).toEqual((await stage.logged(id))[1]);
  });
});

describeAll("the transport of the AI SDK over a WebSocket in Chromium", () => {
  it("sends, resumes after a reload, regenerates and stops", async () => {
    const [page, id] = await opened("transport=websocket");
    await expectResumedAndRegenerated(page, id);
    await say(page, "tell 10000");
    await written(page, 10);
    await page.evaluate(() => stop());
    await page.waitForFunction(() => chat.status === "ready");
    await stage.reload(page);
    await expectSame(page, id, 4);
  });

  it("sends the answer to an approval, and all of the reply after a kill when it resumes", async () => {
    const [page, id] = await opened("transport=websocket");
    await say(page, "pay 6");
    await answer(page, await approvalOf(page), true);
    const [, reply] = await expectSame(page, id, 2);
    expect(JSON.stringify(reply)).toContain("paid 6");
    await say(page, "tell 150");
    await written(page, 100);
    await stage.kill();
    await page.waitForFunction(() => chat.status === "error");
    await stage.start();
    await page.evaluate(() => void chat.resumeStream());
    await page.waitForFunction(() => chat.status === "streaming");
    await settled(page, 4);
    const shown = await page.evaluate(() => chat.messages);
    expect(shown.at(-1)).toEqual((await stage.logged(id)).at(-1));
  });
});
