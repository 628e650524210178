/** The prompt in a chat: its size, a compaction and its undoing, a look at another way, from keys to screen. */
import { describe, expect, it } from "vitest";
import {
  dropOldest,
  manual,
  overflow,
  slidingWindow,
  summarize,
  type Agent,
} from "../../src/public/index.ts";
import { gate } from "../../src/models/index.ts";
import { echo } from "../runtime/tools.ts";
import { billingModel } from "../support/billing-model.ts";
import { call, calling, saying } from "../support/script.ts";
import { summaryOf } from "../support/summarisers.ts";
import { chatStage, type ChatStage } from "./chat-stage.ts";

const ENTER = "\r";
const ESCAPE = "\u001B";
const long = "a line of a long result. ".repeat(200);
const limits = { billing: { contextWindow: 15_500, maxOutputTokens: 2000 } };
const catalogue = { limits: () => undefined, cost: () => undefined };

function worker(context: NonNullable<Agent["context"]>): Agent {
  return {
    model: billingModel((_, index) =>
      index % 2 === 0
        ? calling(call("echo", `${index}`, { value: `${index} ${long}` }))
        : `Answer ${(index + 1) / 2}.`,
    ),
    tools: { echo },
    instructions: "You read what you are told to read, and nothing else. ".repeat(100),
    context: { catalogue, limits, ...context },
  };
}

const byHand: NonNullable<Agent["context"]> = {
  prune: false,
  compact: { when: manual(), how: dropOldest({ keepTurns: 1 }) },
};

/** So wide that no sentence is broken. */
const stage = (agent: Agent): Promise<ChatStage> => chatStage(agent, 200);

async function talk(chat: ChatStage, turns: number): Promise<void> {
  for (let turn = 1; turn <= turns; turn++) {
    chat.type(`read it${ENTER}`);
    await chat.until(
      new RegExp(`(?:^> read it$[^]*){${turn}}^Answer ${turn}\\.$[^]*^tokens: `, "m"),
    );
    await chat.session.idle();
  }
}

/** What `/context` draws, without what else is on the screen. */
async function drawn(chat: ChatStage): Promise<readonly string[]> {
  const before = drawings(chat).length;
  chat.type(`/context${ENTER}`);
  await chat.until(
    new RegExp(`(?:^~?[\\d,]+ tokens for [^]*?^last estimate: .*$[^]*?){${before + 1}}`, "m"),
  );
  return drawings(chat).at(-1)?.split("\n") ?? [];
}

function drawings(chat: ChatStage): readonly string[] {
  return chat.screen().match(/^~?[\d,]+ tokens for [^]*?^last estimate: .*$/gm) ?? [];
}

function figure(lines: readonly string[], name: string): number {
  const line = lines.find((one) => one.includes(` ${name} `));
  return Number(/([\d,]+)\s+[\d.]+ %$/.exec(line ?? "")?.[1]?.replaceAll(",", ""));
}

async function positionOf({ session }: ChatStage): Promise<number> {
  return (await session.view()).position;
}

describe("the prompt in a chat", () => {
  it("is drawn with its parts, what is free, its basis and the error of the last estimate", async () => {
    await using chat = await stage(worker(byHand));
    await talk(chat, 2);
    const lines = await drawn(chat);
    const figures = await chat.session.context();
    const [title = "", bar = ""] = lines;
    expect(title).toMatch(
      /^[\d,]+ tokens for .*billing: [\d.]+ % of 13,500 \(window 15,500\), [\d.]+ kB$/,
    );
    expect(title).toContain(figures.tokens.toLocaleString("en-US"));
    // Each mark takes its share of the window, to a cell.
    expect(bar).toMatch(/^\[i+t*#+·+-+\]$/);
    const cells = bar.length - 2;
    const marks = (mark: string): number => bar.split(mark).length - 1;
    expect(Math.abs(marks("#") - (cells * figures.breakdown.messages) / 15_500)).toBeLessThan(1.5);
    expect(Math.abs(marks("-") - (cells * 2000) / 15_500)).toBeLessThan(1);
    for (const part of ["instructions", "tools", "messages"] as const) {
      expect(figure(lines, part)).toBe(figures.breakdown[part]);
    }
    expect(figure(lines, "free")).toBe(13_500 - figures.tokens);
    expect(figure(lines, "kept for the reply")).toBe(2000);
    const { since, lastError } = figures;
    expect(lines.join("\n")).toContain(
      `measured: billed for step 4: ${since?.input.toLocaleString("en-US")} in + ${since?.output} out; since then 0 new − 0 removed`,
    );
    expect(lines.at(-1)).toContain(
      `last estimate: step 4, ${lastError?.estimated.toLocaleString("en-US")} for the ${lastError?.billed.toLocaleString("en-US")}`,
    );
  });

  it("is drawn without what is free where the window is not known, which is said", async () => {
    await using chat = await stage(worker({ ...byHand, limits: {} }));
    await talk(chat, 1);
    chat.type(`/context${ENTER}`);
    await chat.until(/^The window of .*billing is not known, and so neither is the free space\.$/m);
    expect(chat.screen()).toMatch(/^\[i+t*#+\]$/m);
  });

  it("is smaller after /compact, and what it was after /restore", async () => {
    await using chat = await stage(worker(byHand));
    await talk(chat, 4);
    const { bytes } = await chat.session.context();
    const { messages: prompt } = (await chat.session.view()).prompt;
    const large = figure(await drawn(chat), "messages");
    chat.type(`/compact drop-oldest${ENTER}`);
    await chat.until(/^Compacting by drop-oldest: on request\.$/m);
    await chat.until(
      /^Compacted by drop-oldest: ~[\d,]+ → ~[\d,]+ tokens; .* \/restore \d+ undoes it\.$/m,
    );
    const half = await drawn(chat);
    expect(figure(half, "messages")).toBeLessThan(0.6 * large);
    // The agent's own way keeps less.
    chat.type(`/compact${ENTER}`);
    await chat.until(/(?:^Compacted by drop-oldest: [^]*?){2}/m);
    expect(figure(await drawn(chat), "messages")).toBeLessThan(0.6 * figure(half, "messages"));
    chat.type(`/restore${ENTER}`);
    await chat.until(/^Undone: what was left out at position \d+ is shown to the model again\.$/m);
    expect(await drawn(chat)).toEqual(half);
    chat.type(`/restore${ENTER}`);
    await chat.until(/(?:^Undone: what was left out at position \d+ [^]*?){2}/m);
    expect((await chat.session.view()).prompt.messages).toEqual(prompt);
    expect((await chat.session.context()).bytes).toBe(bytes);
    chat.type(`/restore${ENTER}`);
    await chat.until(
      /^Session one cannot restore: nothing is pruned, cut, left out or compacted\.$/m,
    );
  });

  it("is compacted in the way that is named, and restored at the position that is", async () => {
    await using chat = await stage(worker(byHand));
    await talk(chat, 3);
    const first = (await positionOf(chat)) + 2;
    chat.type(`/compact checkpoint${ENTER}`);
    await chat.until(/^Compacted by checkpoint: /m);
    chat.type(`/restore 1${ENTER}`);
    await chat.until(
      /^Session one cannot restore: nothing was pruned, cut, left out or compacted at position 1/m,
    );
    chat.type(`/restore ${first}${ENTER}`);
    await chat.until(new RegExp(`^Undone: what was left out at position ${first} `, "m"));
    chat.type(`/compact hard${ENTER}`);
    await chat.until(/^\/compact alone, or with one of summarize, checkpoint, /m);
    const types: string[] = [];
    for await (const { type } of chat.runtime.log.read("one")) types.push(type);
    expect(types.filter((type) => type.startsWith("context."))).toEqual([
      "context.compaction-started",
      "context.compacted",
      "context.restored",
    ]);
  });

  it("is shown as another way would leave it, and nothing is written", async () => {
    await using chat = await stage(worker(byHand));
    await talk(chat, 3);
    const before = await positionOf(chat);
    chat.type(`/preview${ENTER}`);
    await chat.until(
      /^drop-oldest at \d+: ~[\d,]+ → ~[\d,]+ tokens \(\d+ % less\)\. Nothing was written\.$/m,
    );
    await chat.until(
      /the model would see 4 messages:\n {2}user +read it\n {2}assistant \[tool-call echo\]\n {2}tool +\[tool-result echo\]\n {2}assistant Answer 3\.$/m,
    );
    chat.type(`/preview checkpoint${ENTER}`);
    await chat.until(/^checkpoint at \d+: /m);
    expect(await positionOf(chat)).toBe(before);
    expect((await chat.session.view()).prompt.messages).toHaveLength(12);
  });

  it("is looked at and not touched while a turn runs: that is refused, and said when it can be done", async () => {
    const speaking = gate();
    const model = billingModel(["first", saying("one ", speaking)]);
    await using chat = await stage({ model, context: { catalogue, limits } });
    chat.type(`before${ENTER}`);
    await chat.until(/^first$/m);
    await chat.session.idle();
    chat.type(`go${ENTER}`);
    await chat.until(/^one$/m);
    for (const command of ["compact", "restore"]) {
      chat.type(`/${command}${ENTER}`);
      await chat.until(
        new RegExp(
          `^A turn is running: use /${command} when it has ended; Esc cancels it\\.$`,
          "m",
        ),
      );
    }
    await drawn(chat);
    chat.type(`/preview${ENTER}`);
    await chat.until(/^summarize would save less than a tenth\. Nothing was written\.$/m);
    speaking.open();
    await chat.until(/^one$[^]*^tokens: /m);
    await chat.session.idle();
    const types = [];
    for await (const event of chat.runtime.log.read("one")) types.push(event.type);
    expect(types.filter((type) => type.startsWith("context."))).toEqual([]);
  });

  it("stays as it is when a compaction is cancelled, after which all else can be cancelled too", async () => {
    const [summing, again, speaking] = [gate(), gate(), gate()];
    const writer = billingModel([saying("## Goal", summing), saying("## Goal", again)]);
    const model = billingModel([long, long, long, saying("one ", speaking)]);
    const how = summarize({ model: writer, keepTokens: 500 });
    await using chat = await stage({
      model,
      context: { catalogue, compact: { when: manual(), how } },
    });
    for (let turn = 1; turn <= 3; turn++) {
      chat.type(`tell me${ENTER}`);
      await chat.until(new RegExp(`(?:^tokens: [^]*?){${turn}}`, "m"));
      await chat.session.idle();
    }
    const { messages: prompt } = (await chat.session.view()).prompt;
    for (const cancelled of [1, 2]) {
      chat.type(`/compact${ENTER}`);
      await chat.until(/^Compacting · /m);
      chat.type(`/compact${ENTER}`);
      await chat.until(
        /^A compaction is running: use \/compact when it has ended; Esc cancels it\.$/m,
      );
      chat.type(ESCAPE);
      await chat.until(
        new RegExp(`(?:^Not compacted by summarize: it was cancelled\\.[^]*?){${cancelled}}`, "m"),
      );
      await chat.until(/^Ask about this folder/m);
    }
    expect((await chat.session.view()).prompt.messages).toEqual(prompt);
    chat.type(`go${ENTER}`);
    await chat.until(/^one$/m);
    chat.type(ESCAPE);
    await chat.until(/^Cancelled\. Kept in the session: your message, 4 characters/m);
  });

  it("tells what was pruned and compacted within a turn, from what to what", async () => {
    const compact = { when: overflow(), how: slidingWindow() };
    const prune = { protectTokens: 1500, minimumGain: 1500 };
    await using chat = await stage(worker({ prune, compact }));
    await talk(chat, 8);
    expect(chat.screen()).toMatch(
      /^Compacting by sliding-window: the next prompt exceeds its limit\.$/m,
    );
    const [, before = "", after = "", position] =
      /^Left out \d+ old tool results: ~([\d,]+) → ~([\d,]+) tokens\. \/restore (\d+) undoes it\.$/m.exec(
        chat.screen(),
      ) ?? [];
    const tokens = (text: string): number => Number(text.replaceAll(",", ""));
    expect(tokens(after)).toBeLessThan(tokens(before) - 1500);
    expect(chat.screen()).toMatch(
      new RegExp(`^Compacted by sliding-window: ~${after} → ~[\\d,]+ tokens; positions `, "m"),
    );
    chat.type(`/restore ${position}${ENTER}`);
    await chat.until(new RegExp(`^Undone: what was left out at position ${position} `, "m"));
  });

  it("warns when an agent that waits to be asked has nearly no room left", async () => {
    await using chat = await stage(worker(byHand));
    await talk(chat, 2);
    expect(chat.screen()).not.toContain("that it may have");
    chat.type(`read it${ENTER}`);
    for (let turn = 3; turn < 9; turn++) chat.type(`read it${ENTER}`);
    await chat.until(
      /^The prompt has ~[\d,]+ of at most 13,500 tokens\. \/compact shortens it\.$/m,
    );
  });

  it("is summarised by the agent's model where nothing else is named", async () => {
    const agent = worker({
      ...byHand,
      compact: {
        when: manual(),
        how: summarize({ model: billingModel([summaryOf(["FACT-one"])]), keepTokens: 500 }),
      },
    });
    await using chat = await stage(agent);
    await talk(chat, 3);
    chat.type(`/compact${ENTER}`);
    await chat.until(
      /^Compacted by summarize: ~.* shown as a summary by \S+:billing \([\d,]+ in.*\d out.*\)\. \/restore \d+ undoes it\.$/m,
    );
    expect(JSON.stringify((await chat.session.view()).prompt.messages)).toContain("FACT-one");
  });
});
