/**
 * The studio in Chromium, by what a person sees. `npm run test:browser` runs all; `npm test` the first look.
 */

import { expect, it, vi } from "vitest";
import { importMessages } from "../../src/public/index.ts";
import { describeAll, describeHere } from "../browser/in-browser.ts";
import { patience } from "../support/runs.ts";
import { axeFaults } from "./axe-faults.ts";
import { stageOfFile } from "./stage-of-file.ts";
import type { StudioStage } from "./studio-stage.ts";

vi.setConfig({ testTimeout: patience });

let stage: StudioStage;
stageOfFile((opened) => {
  stage = opened;
});

const at = (session: string, query = ""): string => `#/sessions/${session}${query}`;

describeHere("the studio at first sight", () => {
  it("lists the sessions, shows a conversation, its past and a prompt, and asks nobody else", async () => {
    const page = await stage.page();
    expect(await page.locator(".session-row").count()).toBe(7);
    await page.click("text=test/queue.test.ts fails");
    await page.waitForSelector(".message-user >> text=In two sentences");
    await page.keyboard.press("3");
    await page.waitForSelector(".prompt-body[data-prompt]");
    expect(await page.textContent(".prompt-summary")).toMatch(/messages.*tokens.*from the cache/s);
    await stage.go(page, at("fix-flaky-test", "?position=10&view=state"));
    await page.waitForSelector('.state[data-position="10"]');
    expect(await page.textContent(".panel-chat")).toContain("as it was at position 10");
    expect(await page.locator(".message-user").count()).toBe(1);
    expect(stage.faults).toEqual([]);
  });
});

describeAll("time", () => {
  it("filters events, and moves by keys, clicks and a typed position", async () => {
    const page = await stage.page(at("fix-flaky-test", "?view=events"));
    await page.waitForSelector(".event-row");
    await page.click("text=failures only");
    const failed = await page.locator(".event-row .event-type").allTextContents();
    expect(failed.length).toBeGreaterThan(0);
    expect(failed.every((type) => type.startsWith("✕"))).toBe(true);
    await page.click("text=failures only");
    await page.keyboard.press("Escape");
    await page.locator("#go-to").fill("40");
    await page.keyboard.press("Enter");
    await page.waitForFunction(() => location.hash.includes("position=40"));
    await page.locator("h1").click();
    await page.keyboard.press("ArrowLeft");
    await page.waitForFunction(() => !location.hash.includes("position=40"));
    await page.keyboard.press("l");
    await page.waitForFunction(() => !location.hash.includes("position"));
  });

  it("says what changed between two prompts, and where a compaction broke the cache", async () => {
    const events = await Array.fromAsync(stage.runtime.log.read("fix-flaky-test"));
    const last = events.findLast(({ type }) => type === "step.started")?.position ?? 0;
    const page = await stage.page(at("fix-flaky-test", `?view=prompt&position=${last}`));
    await page.waitForSelector(".change");
    expect(await page.textContent(".prompt-summary")).toContain("the cache breaks");
    expect(await page.locator(".change .pill", { hasText: "compacted" }).count()).toBeGreaterThan(
      0,
    );
  });
});

describeAll("acts", () => {
  it("approves a call, and the turn continues", async () => {
    const page = await stage.page(at("refund-4711"));
    await page.click("text=Approve");
    await page.waitForSelector(".call-output-available >> text=send_mail");
    await page.waitForSelector("text=This is the demo");
    expect(await page.locator(".call-approval-requested").count()).toBe(0);
  });

  it("runs an edited message on a branch of its own, and goes between the branches", async () => {
    const page = await stage.page(at("rate-limited"));
    await page.hover(".message-user");
    await page.click("text=Edit and run");
    await page.getByLabel("Edit the message").fill("Are you still there?");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".branches >> text=2 of 2");
    await page.getByLabel("The branch before").first().click();
    await page.waitForSelector("text=Are you there?");
    await page.waitForSelector("text=a branch that the session has left");
    expect(await page.locator(".message-user").count()).toBe(1);
  });

  it("forks where it is, compares the fork, and verifies the log", async () => {
    const page = await stage.page(at("plan-a-trip", "?position=12"));
    await page.click("#acts");
    await page.click("text=Fork here");
    await page.waitForFunction(() => !location.hash.includes("plan-a-trip"));
    await page.click("text=fork of plan-a-trip");
    await page.waitForSelector(".pair-head");
    await stage.go(page, at("plan-a-trip"));
    await page.click("#acts");
    await page.click("text=Verify the log");
    await page.waitForSelector(".verdict.good");
    expect(await page.locator(".verdict.bad").count()).toBe(0);
  });

  it("reruns a turn with other instructions in a fork", async () => {
    const page = await stage.page(at("rate-limited"));
    await page.click("#acts");
    await page.click("text=Rerun the last turn");
    await page.getByLabel("Instructions").fill("Answer in one word.");
    await page.click(".dialog button[type=submit]");
    await page.waitForFunction(() => !location.hash.includes("rate-limited"));
    await page.waitForSelector("text=fork of rate-limited");
    const { hash } = await page.evaluate(() => ({ hash: location.hash }));
    const fork = hash.split("/").at(-1) ?? "";
    const events = await Array.fromAsync(stage.runtime.log.read(fork));
    // The log has digests of the agent's parts.
    const parts = events.flatMap(({ type, data }) =>
      (type === "session.created" || type === "session.forked") && "agent" in data
        ? [data.agent?.parts]
        : [],
    );
    expect(parts).toHaveLength(2);
    expect(parts[1]?.instructions).not.toBe(parts[0]?.instructions);
    expect(parts[1]?.tools).toEqual(parts[0]?.tools);
  });

  it("sends a message, which streams into the conversation", async () => {
    const page = await stage.page(at("right-to-left"));
    await page.fill("#composer", "Who are you?");
    await page.keyboard.press("Enter");
    await page.waitForSelector(".message-assistant:last-of-type >> text=scripted model");
    expect(await page.locator("#composer").inputValue()).toBe("");
  });
});

describeAll("a reply in Markdown", () => {
  it("is drawn: tables, lists and links to the web alone; what a person typed stays as it is", async () => {
    const reply =
      "# Sales\n\n| region | revenue |\n|---|--:|\n| north | 447 |\n\n1. [docs](https://example.com/a) and [run](javascript:alert)\n2. <b>markup</b>";
    await importMessages(
      stage.runtime.log,
      [
        { role: "user", content: "# not a heading, **not bold**" },
        { role: "assistant", content: reply },
      ],
      { from: "model-messages", as: "markdown" },
    );
    const page = await stage.page(at("markdown"));
    await page.waitForSelector(".message-assistant");
    expect(await page.textContent(".message-user .prose")).toBe("# not a heading, **not bold**");
    const drawn = page.locator(".message-assistant .prose");
    expect(await drawn.locator("h3").textContent()).toBe("Sales");
    expect(await drawn.locator("td").allTextContents()).toEqual(["north", "447"]);
    expect(await drawn.locator("ol li").allTextContents()).toEqual([
      "docs and run (javascript:alert)",
      "<b>markup</b>",
    ]);
    expect(await drawn.locator("a").count()).toBe(1);
    const link = drawn.locator("a");
    expect(await link.getAttribute("href")).toBe("https://example.com/a");
    expect(await link.getAttribute("rel")).toBe("noreferrer noopener");
  });
});

describeAll("everybody", () => {
  it("sees in colours of their own what is chosen, and the keys of the charts", async () => {
    const page = await stage.page("", { forcedColors: true });
    await stage.go(page, at("fix-flaky-test", "?position=197&view=prompt"));
    await page.waitForSelector(".change");
    const outlined = await page.evaluate(() =>
      [...document.querySelectorAll(".session-row, .switch button")].map((one) => [
        (one.getAttribute("aria-selected") ?? one.getAttribute("aria-pressed")) === "true",
        getComputedStyle(one).outlineStyle === "solid",
      ]),
    );
    expect(outlined.filter(([isChosen]) => isChosen)).toHaveLength(3);
    for (const [isChosen, isOutlined] of outlined) expect(isOutlined).toBe(isChosen);
    await stage.go(page, at("fix-flaky-test", "?view=steps"));
    const swatches = page.locator(".legend li:not(.span-break, .span-compaction)");
    await swatches.first().waitFor();
    const colours = await swatches.evaluateAll((all) =>
      all.map((one) => getComputedStyle(one, "::before").backgroundColor),
    );
    expect(new Set(colours).size).toBeGreaterThanOrEqual(9);
  });

  it.each([
    ["light", {}],
    ["dark", { dark: true }],
    ["high contrast", { contrast: true }],
    ["dark, high contrast", { dark: true, contrast: true }],
  ])("finds nothing with axe, headings in order among it: %s", async (_, look) => {
    const page = await stage.page("", look);
    expect(await axeFaults(page), "home").toEqual([]);
    for (const view of ["chat", "events", "prompt", "state", "steps", "bill"]) {
      await stage.go(page, at("fix-flaky-test", `?position=150&view=${view}`));
      await page.waitForSelector(".figures");
      await page.waitForSelector(".panel-time .spinner", { state: "detached" });
      expect(await axeFaults(page), view).toEqual([]);
    }
    await page.click("#acts");
    expect(await axeFaults(page), "acts").toEqual([]);
    await page.keyboard.press("?");
    await page.waitForSelector("dialog");
    expect(await axeFaults(page), "keys").toEqual([]);
    await page.keyboard.press("Escape");
    await stage.go(page, at("no-such-session"));
    await page.waitForSelector("text=cannot be shown");
    expect(await axeFaults(page), "nothing there").toEqual([]);
    await stage.go(page, "#/compare?left=fix-flaky-test&right=fix-flaky-test-lock");
    await page.waitForSelector(".pair-head");
    expect(await axeFaults(page), "compare").toEqual([]);
  });

  it("lists the keys on ?, and reaches everything with them", async () => {
    const page = await stage.page(at("fix-flaky-test"));
    await page.waitForSelector(".figures");
    await page.keyboard.press("?");
    await page.waitForSelector("dialog >> text=One step back");
    await page.keyboard.press("Escape");
    await page.waitForSelector("dialog", { state: "detached" });
    await page.keyboard.press("/");
    await page.waitForFunction(() => document.activeElement?.id === "session-search");
    await page.keyboard.type("refund");
    await page.waitForFunction(() => document.querySelectorAll(".session-row").length === 1);
    await page.focus("[role=tree]");
    await page.keyboard.press("ArrowDown");
    await page.waitForFunction(() => location.hash.includes("refund"));
    expect(await page.locator(".session-row[aria-selected=true]").count()).toBe(1);
  });

  it.each([360, 3_840])("fits %i pixels, with long words in any script too", async (width) => {
    const words = `${"Donaudampfschiff".repeat(30)} ${"長い言葉".repeat(60)} ${"مرحبا".repeat(60)} 👩‍👩‍👧‍👦`;
    const session = await stage.runtime.session("long-words");
    await (await session.send(words)).untilRest();
    const page = await stage.page("", { width });
    for (const id of ["fix-flaky-test", "long-words"])
      for (const view of ["chat", "events", "prompt", "state", "steps", "bill"]) {
        await stage.go(page, at(id, `?view=${view}`));
        await page.waitForSelector(`.figures >> text=Turns`);
        const widest = await page.evaluate(() => document.documentElement.scrollWidth);
        expect(widest, `${id} ${view}`).toBeLessThanOrEqual(width);
      }
  });
});

describeAll("a session made of attacks", () => {
  it("runs nothing and requests nothing", async () => {
    const attack = `<script>pwned=1</script><img src=x onerror="pwned=1"> [a](javascript:pwned=1) \u001B]8;;http://evil.invalid\u0007x \`\`\`<svg onload=pwned=1>\`\`\``;
    const session = await stage.runtime.session("attacks");
    await (
      await session.send([
        { type: "text", text: attack },
        { type: "file", mediaType: "text/html", filename: attack, data: Buffer.from(attack) },
        {
          type: "file",
          mediaType: "image/svg+xml",
          data: Buffer.from("<svg onload='pwned=1' xmlns='http://www.w3.org/2000/svg'/>"),
        },
      ])
    ).untilRest();
    const image = "![x](http://evil.invalid/x.png) [y]: http://evil.invalid";
    await importMessages(
      stage.runtime.log,
      [
        { role: "user", content: attack },
        { role: "assistant", content: `${attack}\n\n${image}` },
      ],
      { from: "model-messages", as: "attacks-in-reply" },
    );
    stage.faults.length = 0;
    const page = await stage.page();
    for (const session of ["attacks", "attacks-in-reply"])
      for (const view of ["chat", "events", "prompt", "state", "steps", "bill"]) {
        await stage.go(page, at(session, `?view=${view}`));
        await page.waitForSelector(".figures");
        await page.waitForTimeout(100);
      }
    expect(await page.evaluate(() => "pwned" in globalThis)).toBe(false);
    expect(
      await page
        .locator("#root script, #root iframe, #root object, #root a[href^=javascript]")
        .count(),
    ).toBe(0);
    expect(stage.faults).toEqual([]);
  });
});
