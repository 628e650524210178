/** Long inputs of calls as the model is shown them. */

import { describe, expect, it } from "vitest";
import { cutInput, promptMessages } from "../../src/projections/index.ts";
import { Session } from "../context/session.ts";

describe("a cut input", () => {
  it("keeps the beginning and the end of each long text, and everything else", () => {
    const text = "abcdefghij".repeat(100);
    const input = { path: "a", list: [text, 1, null, true], deep: { text } };
    const cut = `${text.slice(0, 75)}\n[900 of 1000 characters left out here.]\n${text.slice(-25)}`;
    expect(cutInput(input, { texts: 100 })).toEqual({
      path: "a",
      list: [cut, 1, null, true],
      deep: { text: cut },
    });
  });

  it("is whole where the note would be longer than what it leaves out", () => {
    const input = { text: "x".repeat(120) };
    expect(cutInput(input, { texts: 100 })).toEqual(input);
  });

  it("never has half of a surrogate pair", () => {
    const input = { text: "🚢".repeat(400) };
    for (let texts = 0; texts < 50; texts++)
      expect(JSON.stringify(cutInput(input, { texts })).isWellFormed()).toBe(true);
  });
});

it("a stored item does not stand for a cut call: the step is sent without ids of items and reasoning", () => {
  const session = new Session();
  const itemId = (id: string) => ({ openai: { itemId: id } });
  session.ask("Write.");
  session.start();
  session.record({
    type: "part.reasoning-start",
    data: { id: "r", providerMetadata: itemId("rs_1") },
  });
  session.record({ type: "part.reasoning-end", data: { id: "r" } });
  session.record({
    type: "part.tool-call",
    data: {
      toolCallId: "c",
      toolName: "write",
      input: { text: "x".repeat(999) },
      providerMetadata: itemId("fc_1"),
    },
  });
  session.finish({}, "tool-calls");
  session.record({ type: "tool.succeeded", data: { step: 1, callId: "c", output: "written" } });
  expect(JSON.stringify(promptMessages(session.history, session.view))).toContain("rs_1");
  session.record({
    type: "context.cut",
    data: { calls: [], inputs: [{ step: 1, callId: "c", texts: 10 }], savedTokens: 1 },
  });
  const [, reply] = promptMessages(session.history, session.view);
  expect(reply?.content).toEqual([
    {
      type: "tool-call",
      toolCallId: "c",
      toolName: "write",
      input: { text: expect.stringContaining("left out here") as string },
    },
  ]);
});
