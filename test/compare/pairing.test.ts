/** Planted changes: each is found where it is, in a sentence that names it; harmless ones are not found. */

import { isDeepStrictEqual } from "node:util";
import { describe, expect, it } from "vitest";
import { laneOf, pair, type PairOptions } from "../../src/compare/index.ts";
import type { Agent } from "../../src/public/index.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { call, calling } from "../support/script.ts";
import { lane, lookup, refund, usual, type Played } from "./lanes.ts";

const tools = (changed: Parameters<typeof lookup>[0]) => ({ lookup: lookup(changed), refund });
const scripted = (index: number, ...other: NonNullable<Played["script"]>): Played => ({
  script: usual.toSpliced(index, 1, ...other),
});

async function first(change: Played, options?: PairOptions): Promise<string | undefined> {
  const { first: sentence, verdict } = pair(await lane(), await lane(change), options);
  expect(verdict).toBe(sentence === undefined ? "equal" : "different");
  return sentence;
}

describe("a planted change", () => {
  it.each<[string, Played]>([
    [
      'The instructions have changed: line 2 was "Be brief." and is "Be long.".',
      { instructions: "You help.\nBe long.\nBe kind." },
    ],
    [
      'The tool lookup has another description: line 3 was "\\"description\\": \\"Finds an order.\\"," and is "\\"description\\": \\"Finds it.\\",".',
      { tools: tools({ description: "Finds it." }) },
    ],
    [
      'The tool lookup has another input schema: line 8 was "\\"type\\": \\"integer\\"" and is "\\"type\\": \\"string\\"".',
      { tools: tools({ type: "string" }) },
    ],
    ["The order of the tools has changed.", { tools: { refund, lookup: lookup() } }],
    ["The tool tell is new.", { tools: { ...tools({}), tell: refund } }],
    ["The settings of the call differ: `temperature` is 0.5 and was absent.", { temperature: 0.5 }],
    [
      'Turn 1 begins with another message: it is "What is order 15?" and was "What is order 16?".',
      { messages: ["What is order 15?", "Pay order 17 back."] },
    ],
    [
      "Step 1: lookup gave another output: `total` is 7 and was 6.",
      { tools: tools({ execute: () => ({ items: ["pen"], total: 7 }) }) },
    ],
    [
      'Step 1: the call of lookup is failed ("No."), in the recording succeeded.',
      {
        tools: tools({
          execute: () => {
            throw new Error("No.");
          },
        }),
      },
    ],
    [
      "Step 1 calls lookup with another input: `of.shop` is 2 and was 1.",
      scripted(0, calling(call("lookup", "a", { order: 16, of: { shop: 2 } }))),
    ],
    [
      'Step 1 calls refund with {"order":16}, the recording called lookup.',
      scripted(0, calling(call("refund", "a", { order: 16 }))),
    ],
    [
      'Step 3 does not call refund with {"order":17}, as the recording did.',
      scripted(2, calling(call("lookup", "b", { order: 17 }))),
    ],
    [
      'Step 4 calls refund with {"order":17}, the recording called nothing.',
      scripted(3, calling(call("refund", "d", { order: 17 })), "It is paid back."),
    ],
    ['Step 2 says "It is 7.", the recording said "It is 6.".', scripted(1, "It is 7.")],
    [
      "Turn 1 ended at the limit of 1 step; the recorded turn finished.",
      { maxSteps: 1, script: usual.toSpliced(1, 1) },
    ],
    ["Turn 2 is missing: in the recording, it finished.", { messages: ["What is order 16?"] }],
  ])("%s", async (sentence, change) => {
    expect(await first(change)).toBe(sentence);
  });

  it("in the prompt of a later step alone is said there, once", async () => {
    const prepareStep: Agent["prepareStep"] = ({ stepNumber }) =>
      stepNumber === 1 ? { instructions: "You help." } : {};
    const { turns } = pair(await lane(), await lane({ prepareStep }));
    const said = turns.flatMap(({ steps: of }) => of.map(({ differences }) => differences));
    expect(said[0]).toEqual([]);
    expect(said[1]?.[0]?.sentence).toMatch(
      /^From step 2 on: The instructions have changed: line 2/,
    );
  });

  it("that stands for the whole session is said once", async () => {
    const { turns } = pair(await lane(), await lane({ instructions: "Help." }));
    const said = turns.flatMap(({ steps: of }) => of.flatMap(({ differences }) => differences));
    expect(said).toHaveLength(1);
  });

  it("of what a step is shown of the past is said of its message", async () => {
    const prepareStep: Agent["prepareStep"] = ({ stepNumber, messages }) =>
      stepNumber === 1
        ? { messages: [{ role: "user", content: "What is order 9?" }, ...messages.slice(1)] }
        : {};
    expect(await first({ prepareStep })).toBe(
      'Step 2 gets another prompt: in its message 1 (user), `content` is "What is order 9?" and was "What is order 16?".',
    );
  });

  it("of the model is said", async () => {
    const change = { modelId: "other" };
    expect(await first(change)).toBe("The model is turnlog:other and was turnlog:scripted.");
    expect(await first(change, { allow: ["model"] })).toBeUndefined();
  });

  it("in a long value is shown where it begins", async () => {
    const long = (end: string) => tools({ execute: () => "word ".repeat(100) + end });
    const { first: sentence } = pair(
      await lane({ tools: long("this") }),
      await lane({ tools: long("that") }),
    );
    expect(sentence).toBe(
      'Step 1: lookup gave another output: it is …rd word word word that" and was …rd word word word this".',
    );
  });

  it("in a tool's name cannot forge a sentence", async () => {
    const name = "look\nStep 9 is equal.";
    const found = await first({ tools: { ...tools({}), [name]: refund } });
    expect(found).toBe(`The tool ${JSON.stringify(name)} is new.`);
  });
});

describe("no difference", () => {
  it.each<[string, Played, PairOptions?]>([
    ["the same once more", {}],
    [
      "other ids of calls",
      scripted(0, calling(call("lookup", "z", { order: 16, of: { shop: 1 } }))),
    ],
    [
      "keys in another order",
      scripted(0, calling(call("lookup", "a", { of: { shop: 1 }, order: 16 }))),
    ],
    [
      "parallel calls in another order",
      scripted(2, calling(call("refund", "c", { order: 17 }), call("lookup", "b", { order: 17 }))),
    ],
    [
      "an allowed change of the instructions",
      { instructions: "You help.\nBe brief,\nBe kind." },
      { allow: ["instructions"] },
    ],
    [
      "an allowed change of a description",
      { tools: tools({ description: "Finds an order!" }) },
      { allow: ["tool-descriptions"] },
    ],
    ["an allowed setting", { temperature: 1 }, { allow: ["settings"] }],
    ["allowed words", scripted(1, "Six."), { allow: ["text"] }],
    [
      "an input that the user takes for the same",
      scripted(0, calling(call("lookup", "a", { order: "16" }))),
      { same: (tool, one, other) => tool === "lookup" || isDeepStrictEqual(one, other) },
    ],
  ])("is %s", async (_, change, options) => {
    expect(await first(change, options)).toBeUndefined();
  });
});

it.each(fixtureNames)("is none between the recorded session %s and itself", async (name) => {
  const events = await readFixture(name);
  const [one, other] = [laneOf("a", events), laneOf("b", events)];
  expect(one.steps.length).toBeGreaterThan(0);
  expect(pair(one, other).first).toBeUndefined();
});

it("a row has all that differs in it", async () => {
  const { turns } = pair(
    await lane(),
    await lane(
      scripted(
        2,
        calling(call("lookup", "b", { order: 18 }), call("tell", "d", {}), call("tell", "e", {})),
      ),
    ),
  );
  const kinds = turns[1]?.steps[0]?.differences.map(({ kind }) => kind);
  expect(kinds).toEqual(["input", "call-new", "call-new", "call-missing"]);
});
