/** What the studio shows where a store is empty, damaged, encrypted, or not reachable. In Chromium. */

import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, vi } from "vitest";
import {
  createRuntime,
  folderKeys,
  openLog,
  type Runtime,
  type SessionEvent,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { browserPath } from "../browser/stage.ts";
import { eventually } from "../support/eventually.ts";
import { long, patience } from "../support/runs.ts";
import { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

const isAll = (long || process.env["TURNLOG_BROWSER"] !== undefined) && browserPath !== undefined;

const pixel =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg==";
/** As an earlier release wrote it: it cannot be read. */
const broken = { type: "turn.started", time: 3, data: { turn: 1, maxSteps: null } };

async function fill(dir: string): Promise<void> {
  const model = scriptedModel(() => "An answer.");
  const say = async (runtime: Runtime, id: string, input: Parameters<Said>[0]): Promise<void> => {
    await (
      await (await runtime.session(id)).send(input)
    ).result;
  };
  {
    await using runtime = await createRuntime({ dir, agent: { model } });
    await say(runtime, "talk", "Answer me.");
    await say(runtime, "talk", "And this.");
    await say(runtime, "pictures", [
      { type: "text", text: "What is this?" },
      { type: "file", mediaType: "image/png", filename: "pixel.png", data: pixel },
    ]);
  }
  const keys = await mkdtemp(join(tmpdir(), "turnlog-studio-keys-"));
  {
    await using runtime = await createRuntime({
      dir,
      agent: { model },
      encryption: { keys: folderKeys(keys) },
    });
    await say(runtime, "secret", "The password is 1234.");
  }
  await rm(keys, { recursive: true });
  await using log = await openLog({ dir });
  await log.append(
    "damaged",
    0,
    [
      {
        type: "message.queued",
        time: 2,
        data: { id: "m", content: "Before it", delivery: "follow-up" },
      },
      broken as unknown as Omit<SessionEvent<"turn.started">, "position">,
      { type: "session.resumed", time: 4, data: {} },
    ],
    { origin: "recorded" },
  );
}

type Said = Awaited<ReturnType<Runtime["session"]>>["send"];

describe.runIf(isAll)("a store that is not as it should be", () => {
  let stage: StudioStage;

  beforeAll(async () => {
    stage = await StudioStage.open(fill);
  }, patience);

  afterAll(async () => {
    await stage.close();
  }, patience);

  it("says which event of a damaged log cannot be read, and shows the rest", async () => {
    const page = await stage.page("#/sessions/damaged?view=events");
    await page.waitForSelector("[role=alert] >> text=cannot be read");
    expect(await page.textContent("[role=alert]")).toContain("damaged");
    expect(await page.locator(".event-row").count()).toBe(2);
    expect(await page.locator(".session-row").count()).toBe(4);
  });

  it("says what is missing for an encrypted session, and shows nothing of it", async () => {
    const page = await stage.page("#/sessions/secret");
    await page.waitForSelector("[role=alert]");
    expect(await page.textContent(".main")).toMatch(/key/i);
    expect(await page.textContent("body")).not.toContain("1234");
  });

  it("shows a session, and pictures of the store", async () => {
    const page = await stage.page("#/sessions/talk");
    await page.waitForSelector(".message-assistant >> text=An answer.");
    await stage.go(page, "#/sessions/pictures");
    const picture = page.locator("img.picture");
    await picture.waitFor();
    await eventually(async () => {
      const width = await picture.evaluate((image): unknown => Reflect.get(image, "naturalWidth"));
      expect(width).toBe(1);
    });
  });

  it("says that the server is away, and continues when it is back", async () => {
    const page = await stage.page("#/sessions/talk");
    await page.waitForSelector(".message-assistant");
    await stage.outage(async () => {
      await page.waitForSelector(".head >> text=reconnecting");
      await page.waitForSelector("text=Offline, trying again");
      expect(await page.locator(".message-assistant").count()).toBe(2);
      await stage.go(page, "#/sessions/talk?view=state&position=3");
      await page.waitForSelector("text=No state here");
    });
    await page.waitForSelector('.state[data-position="3"]');
    await page.keyboard.press("l");
    await page.waitForSelector(".head >> text=reconnecting", { state: "detached" });
    await page.waitForSelector("text=Offline, trying again", { state: "detached" });
    const turn = await (await stage.runtime.session("talk")).send("Still there?");
    await turn.untilRest();
    await page.waitForSelector(".message-user >> text=Still there?");
  });

  it("says that there is no such session", async () => {
    const page = await stage.page("#/sessions/none");
    await page.waitForSelector("[role=alert]");
    expect(await page.textContent("[role=alert]")).toContain("There is no session none");
  });
});

describe.runIf(isAll)("an empty store", () => {
  it("says how to make a session", async () => {
    const stage = await StudioStage.open(async () => {});
    try {
      const page = await stage.page();
      await page.waitForSelector("text=No sessions yet");
      await page.waitForSelector("text=Choose a session");
      expect(stage.faults).toEqual([]);
    } finally {
      await stage.close();
    }
  });
});
