/** What a replay looks at, what it can run, and what it says that it did not look at. */

import { stepCountIs, tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/public/index.ts";
import { differenceSentence } from "../../src/replay/index.ts";
import { replay, type ReplayOptions } from "../../src/replay/replay.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

const looking = (execute: () => Promise<string>): ToolSet => ({
  look: tool({ inputSchema: z.object({ at: z.string() }), execute }),
});

const agent: Agent = {
  model: scriptedModel(() => "Done."),
  instructions: "You look.",
  temperature: 0.2,
  maxOutputTokens: 500,
  tools: looking(async () => "a map"),
  stopWhen: stepCountIs(9),
  prepareCall: ({ options: _, ...settings }) => settings,
  prepareStep: () => ({}),
  experimental_refineToolInput: { look: ({ at }: { at: string }) => ({ at: at.trim() }) },
  onEnd: () => {},
};

const answers = () => scriptedModel([calling(call("look", "1", { at: " Ulm " })), "Done."]);

async function found(changed: Partial<Agent>, options: ReplayOptions = {}) {
  await using open = await openSession({ ...agent, model: answers() });
  await ask(open.session, "Look.");
  const { difference, parts } = await replay(
    await open.events(),
    { ...agent, ...changed },
    options,
  );
  return { said: difference && differenceSentence(difference), parts };
}

describe("a change in", () => {
  it.each<[string, Partial<Agent>, RegExp]>([
    ["the temperature", { temperature: 0.7 }, /prompt\.configured/],
    ["the most tokens of a reply", { maxOutputTokens: 100 }, /prompt\.configured/],
    ["the instructions", { instructions: "You listen." }, /The instructions have changed/],
  ])("%s is a difference", async (_, changed, words) => {
    expect((await found(changed)).said).toMatch(words);
  });

  it.each<[string, Partial<Agent>, NonNullable<ReplayOptions["live"]>[number], RegExp]>([
    [
      "what a tool does",
      { tools: looking(async () => "a mess") },
      "tools",
      /was "a map" and is "a mess"/,
    ],
    ["when it stops", { stopWhen: stepCountIs(1) }, "stopWhen", /turn\.limit-reached/],
    [
      "what it prepares",
      { prepareStep: () => ({ toolChoice: "none" }) },
      "prepareStep",
      /step\.prepared/,
    ],
    [
      "how inputs are refined",
      { experimental_refineToolInput: { look: () => ({ at: "Bonn" }) } },
      "refineToolInput",
      /"?Ulm"? and is "?Bonn/,
    ],
  ])("%s passes, and is a difference where it is live", async (_, changed, part, words) => {
    expect((await found(changed)).said).toBeUndefined();
    expect((await found(changed, { live: [part] })).said).toMatch(words);
    expect((await found({}, { live: [part] })).said).toBeUndefined();
  });
});

it("names what was compared, what ran, and what was not looked at", async () => {
  const { parts } = await found({}, { live: ["stopWhen"] });
  expect(parts).toEqual({
    compared: ["model", "instructions", "temperature", "maxOutputTokens", "tools"],
    live: ["stopWhen"],
    unchecked: [
      "prepareCall",
      "prepareStep",
      "experimental_refineToolInput",
      "onEnd",
      "tools.execute",
    ],
  });
});
