/** What the studio does with answers that come after a person has gone on. In Chromium. */

import type { Page, Route } from "playwright-core";
import { expect, it, vi } from "vitest";
import { memoryKeys } from "../../src/public/index.ts";
import { describeAll } from "../browser/in-browser.ts";
import { eventually } from "../support/eventually.ts";
import { patience } from "../support/runs.ts";
import { stageOfFile } from "./stage-of-file.ts";
import type { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

let stage: StudioStage;
stageOfFile(
  (opened) => {
    stage = opened;
  },
  undefined,
  { encryption: { keys: memoryKeys() } },
);

/** Holds the answers to one kind of request, or to the first of it, until the test lets each go. */
async function hold(page: Page, address: RegExp, times = Infinity): Promise<readonly Route[]> {
  const held: Route[] = [];
  await page.route(address, (route) => void held.push(route), { times });
  return held;
}

/** One of the requests that are held, by its number, once the page has sent it. */
async function sent(held: readonly Route[], number: number): Promise<Route> {
  return await eventually(() => {
    const route = held[number - 1];
    if (route === undefined) throw new Error(`The page has not sent request ${number} yet.`);
    return route;
  });
}

function refusal(status: number, code: string, detail: string) {
  const body = JSON.stringify({ code, detail });
  return { status, contentType: "application/problem+json", body };
}

const summaryAt = (position: number): string =>
  `.prompt-body[data-prompt="${position}"] .prompt-summary >> text=at ${position}`;

describeAll("an answer about another position", () => {
  it("never stands under the name of the position that is seen", async () => {
    const events = await Array.fromAsync(stage.runtime.log.read("fix-flaky-test"));
    const [first, second] = events.filter(({ type }) => type === "step.started");
    const [one, other] = [first?.position ?? 0, second?.position ?? 0];
    const place = (at: number): string => `#/sessions/fix-flaky-test?view=prompt&position=${at}`;
    const page = await stage.page(place(one));
    await page.waitForSelector(summaryAt(one - 1));
    const before = await page.textContent(".prompt-body");
    const held = await hold(page, /\/diff\?/u);
    await stage.go(page, place(other));
    await sent(held, 1);
    await page.waitForSelector(".switch >> text=Sent by step 2");
    expect(await page.textContent(".prompt-body")).toBe(before);
    await page.waitForSelector(summaryAt(one - 1));
    await page.click(`text=Next at ${other}`);
    await (await sent(held, 2)).continue();
    await page.waitForSelector(summaryAt(other));
  });

  it("says nothing about the next one if it is an error", async () => {
    const page = await stage.page("#/sessions/plan-a-trip?view=state&position=5");
    await page.waitForSelector('.state[data-position="5"]');
    const held = await hold(page, /\/state\?/u);
    await stage.go(page, "#/sessions/plan-a-trip?view=state&position=6");
    await (await sent(held, 1)).fulfill({ status: 500, json: { detail: "The server broke." } });
    await page.waitForSelector("text=No state here");
    await stage.go(page, "#/sessions/plan-a-trip?view=state&position=7");
    const next = await sent(held, 2);
    await page.waitForSelector("text=No state here", { state: "detached" });
    expect(await page.locator("[role=alert]").count()).toBe(0);
    await next.continue();
    await page.waitForSelector('.state[data-position="7"]');
  });
});

describeAll("an answer about other sessions", () => {
  it("never stands over a comparison of two others", async () => {
    const page = await stage.page("#/compare?left=fix-flaky-test&right=fix-flaky-test-lock");
    await page.waitForSelector(".side-title >> text=test/queue.test.ts fails");
    await hold(page, /\/state$/u);
    await stage.go(page, "#/compare?left=plan-a-trip&right=right-to-left");
    await page.waitForSelector(".side-title >> text=plan-a-trip");
    expect(await page.textContent(".pair-head")).not.toContain("queue.test.ts");
  });
});

describeAll("an answer about the list", () => {
  it("changes nothing after that of a later question", async () => {
    const page = await stage.page();
    const ask = async (): Promise<void> =>
      await page.evaluate(`document.dispatchEvent(new Event("visibilitychange"))`);
    const showsNew = async (title: string): Promise<void> => {
      await (await (await stage.runtime.session(title)).send(title)).untilRest();
      await ask();
      await page.waitForSelector(`.session-row >> text=${title}`);
    };
    const held = await hold(page, /\/studio\/sessions\?/u, 1);
    await ask();
    const late = await sent(held, 1);
    await showsNew("the-later-list");
    await late.fulfill(refusal(401, "UNAUTHORIZED", "Sign in."));
    // A page that is signed out asks no more.
    await showsNew("the-list-after-it");
    expect(await page.locator(".sign-in").count()).toBe(0);
  });
});

describeAll("the answer to an act", () => {
  it("is there before the next act, whose dialog it would close", async () => {
    const page = await stage.page("#/sessions/plan-a-trip");
    const held = await hold(page, /\/verify$/u);
    await page.click("#acts");
    await page.click("text=Verify the log");
    const verify = await sent(held, 1);
    await page.waitForSelector(".toast >> text=Working");
    expect(await page.isDisabled("#acts")).toBe(true);
    await verify.continue();
    await page.waitForSelector(".verdict.good");
    expect(await page.isDisabled("#acts")).toBe(false);
  });

  it("leads to a fork from the session where a person asked for it, and from no other", async () => {
    const page = await stage.page("#/sessions/plan-a-trip?position=12");
    const before = await page.locator(".session-row").count();
    const held = await hold(page, /\/fork$/u);
    await page.click("#acts");
    await page.click("text=Fork here");
    const fork = await sent(held, 1);
    await stage.go(page, "#/sessions/right-to-left?position=3");
    await page.waitForSelector(".pill.past >> text=at 3");
    await fork.continue();
    await eventually(async () =>
      expect(await page.locator(".session-row").count()).toBe(before + 1),
    );
    expect(await page.evaluate(() => location.hash)).toBe("#/sessions/right-to-left?position=3");
  });
});

describeAll("a key before the log is there", () => {
  it("moves nothing: where a move ends is not known yet", async () => {
    const page = await stage.page();
    const held = await hold(page, /\/newest$/u);
    await stage.go(page, "#/sessions/plan-a-trip?position=5");
    const log = await sent(held, 1);
    await page.keyboard.press("ArrowRight");
    await log.continue();
    expect(await page.textContent(".pill.past")).toContain("at 5");
    await page.waitForSelector(".steps");
    await page.keyboard.press("ArrowRight");
    await page.waitForSelector(".pill.past >> text=at 6");
  });
});

describeAll("a refused command", () => {
  const moving = "The session moved on.";

  /** Refuses the next command at an address. */
  async function refuse(page: Page, address: RegExp): Promise<void> {
    const answer = async (route: Route): Promise<void> =>
      await route.fulfill(refusal(409, "COMMAND_REFUSED", moving));
    await page.route(address, answer, { times: 1 });
  }

  async function seesRefusal(page: Page): Promise<void> {
    await page.waitForSelector(`.toast[role=alert] >> text=${moving}`);
    await page.click(".toast >> role=button");
    await page.waitForSelector(".toast", { state: "detached" });
  }

  it("says why, whatever it was", async () => {
    const session = await stage.runtime.session("refusing");
    await (await session.send("One", { id: "one" })).untilRest();
    await (await session.send("Two", { replaces: "one" })).untilRest();
    await session.send("Later", { notBefore: "2100-01-01T00:00:00Z" });
    const page = await stage.page("#/sessions/refusing");
    for (const button of ["withdraw", "steer"]) {
      await refuse(page, /\/queue\//u);
      await page.click(`.queue button >> text=${button}`);
      await seesRefusal(page);
    }
    await page.getByLabel("The branch before").first().click();
    await refuse(page, /\/checkout$/u);
    await page.click("text=Make it the active branch");
    await seesRefusal(page);
    await refuse(page, /\/fork$/u);
    await page.click("#acts");
    await page.click("text=Fork here");
    await seesRefusal(page);
    await stage.go(page, "#/sessions/refund-4711");
    for (const button of ["Approve", "Deny"]) {
      await refuse(page, /\/approvals\//u);
      await page.click(`.question button >> text=${button}`);
      await seesRefusal(page);
    }
    await refuse(page, /\/cancel$/u);
    await page.click("text=Cancel the turn");
    await seesRefusal(page);
    expect(stage.faults.filter((fault) => fault.startsWith("threw"))).toEqual([]);
  });

  it("says why where the person is by then", async () => {
    const page = await stage.page("#/sessions/right-to-left");
    const held = await hold(page, /\/queue$/u, 1);
    await page.fill("#composer", "Lost?");
    await page.keyboard.press("Enter");
    const send = await sent(held, 1);
    await stage.go(page, "#/sessions/plan-a-trip?position=5");
    await page.waitForSelector(".pill.past >> text=at 5");
    await send.fulfill(refusal(409, "COMMAND_REFUSED", moving));
    await seesRefusal(page);
    expect(await page.textContent(".pill.past")).toContain("at 5");
  });

  it("gives the text of a message back, before what was typed since", async () => {
    const page = await stage.page("#/sessions/right-to-left");
    const held = await hold(page, /\/queue$/u, 1);
    await page.fill("#composer", "First.");
    await page.keyboard.press("Enter");
    const send = await sent(held, 1);
    await page.fill("#composer", "Second.");
    await send.fulfill(refusal(409, "COMMAND_REFUSED", moving));
    await seesRefusal(page);
    expect(await page.inputValue("#composer")).toBe("First.\nSecond.");
  });
});

describeAll("a preview of a compaction", () => {
  it("is shown again before the compaction of a session that has moved on since", async () => {
    const page = await stage.page();
    const compactions: string[] = [];
    await page.route(/\/sessions\/plan-a-trip\/compact/u, async (route) => {
      if (route.request().method() === "POST") compactions.push("asked");
      const answer = await route.fetch();
      const preview = JSON.stringify({ ...(await answer.json()), outcome: "compacted" });
      await route.fulfill({ response: answer, body: preview });
    });
    // The page does not hear of it.
    await hold(page, /\/events\?/u);
    await stage.go(page, "#/sessions/plan-a-trip");
    await page.click("#acts");
    await page.click("text=Compact: preview");
    await page.waitForSelector(".dialog .verdict");
    await (await (await stage.runtime.session("plan-a-trip")).send("More.")).untilRest();
    await page.click("text=Compact now");
    await page.waitForSelector(".dialog >> text=has moved on since the preview");
    expect(compactions).toEqual([]);
    await page.click("text=Compact now");
    await page.waitForSelector(".dialog", { state: "detached" });
    await eventually(() => expect(compactions).toEqual(["asked"]));
  });

  it("of the past compacts nothing", async () => {
    const page = await stage.page("#/sessions/plan-a-trip?position=12");
    await page.click("#acts");
    await page.click("text=Compact: preview");
    await page.waitForSelector(".dialog .verdict");
    expect(await page.getByTitle("This is the past").isDisabled()).toBe(true);
  });
});

describeAll("content that is redacted while it is shown", () => {
  it("goes from the conversation, the events, the prompt and the state when the event comes", async () => {
    const secret = "The code is 4711.";
    const session = await stage.runtime.session("secret");
    await (await session.send(secret)).untilRest();
    const page = await stage.page("#/sessions/secret");
    await page.waitForSelector(`.message-user >> text=${secret}`);
    for (const view of ["state", "events", "prompt"]) {
      await stage.go(page, `#/sessions/secret?view=${view}`);
      await page.waitForSelector(`.session.view-${view}`);
    }
    await page.click("text=Whole prompt");
    await page.waitForSelector(`.prompt-body >> text=${secret}`);
    await page.fill("#composer", "A draft");
    const events = await Array.fromAsync(stage.runtime.log.read("secret"));
    const at = events.find(({ type }) => type === "message.queued")?.position ?? 0;
    await session.redact(at);
    await page.waitForSelector(".prompt-body >> text=[redacted]");
    await page.waitForSelector(`text=${secret}`, { state: "detached" });
    expect(await page.inputValue("#composer")).toBe("A draft");
    for (const view of ["events", "state", "prompt"]) {
      await stage.go(page, `#/sessions/secret?view=${view}&position=${at}`);
      await page.waitForSelector(`.session.view-${view}`);
      await page.waitForSelector(`text=${secret}`, { state: "detached" });
    }
  });
});
