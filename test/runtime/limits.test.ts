/** What a turn may not have more of: time and repetition. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/testing/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

const nothing = z.object({});

describe("a model call that takes too long", () => {
  it("is tried again when the first token does not come, and says that it was late", async () => {
    const model = scriptedModel([calling(gate()), "Here I am."]);
    await using open = await openSession(
      { model, timeLimits: { firstTokenMs: 5 } },
      { random: () => 0 },
    );
    const turn = await open.session.send("Hello?");
    expect(await turn.result).toMatchObject({ text: "Here I am.", finishReason: "stop" });
    const [retrying] = (await open.events()).filter((event) => event.type === "step.retrying");
    expect(retrying?.data).toMatchObject({
      kind: "timeout",
      error: { message: "The model took longer than 5 ms for the first token." },
    });
  });

  it("keeps what came before the next token did not, and goes on from there", async () => {
    const model = scriptedModel([saying("Half a ", gate()), "sentence."]);
    await using open = await openSession(
      { model, timeLimits: { betweenTokensMs: 5 } },
      { random: () => 0 },
    );
    const turn = await open.session.send("Say it.");
    expect(await turn.result).toMatchObject({ finishReason: "stop" });
    const prompt = JSON.stringify(model.calls[1]?.prompt);
    expect(prompt).toContain("Half a ");
    expect(prompt).toContain("was cut off");
    const { history } = await open.session.view();
    expect(history.filter((item) => item.kind === "step").map((step) => step.status)).toEqual([
      "failed",
      "finished",
    ]);
  });

  it("fails for good when every attempt is late, and says of which kind the failure is", async () => {
    const model = scriptedModel([calling(gate()), calling(gate())]);
    await using open = await openSession(
      { model, maxAttempts: 2, timeLimits: { callMs: 5 } },
      { random: () => 0 },
    );
    const turn = await open.session.send("Hello?");
    await expect(turn.result).rejects.toMatchObject({ code: "TURN_FAILED" });
    const failed = (await open.events()).find((event) => event.type === "step.failed");
    expect(failed?.data).toMatchObject({ kind: "timeout" });
  });
});

describe("a turn whose time is up", () => {
  it("ends as timed out, and its messages wait for somebody to look", async () => {
    const model = scriptedModel([saying("Thinking ", gate())]);
    await using open = await openSession({ model, timeLimits: { turnMs: 20 } });
    const turn = await open.session.send("Think.");
    expect(await turn.result).toMatchObject({ finishReason: "timed-out", text: "Thinking " });
    expect((await open.session.view()).state.context.held).toBe(true);
  });

  it("is granted one step to conclude in, of which the model is told and in which no tool runs", async () => {
    const slow = tool({ inputSchema: nothing, execute: () => new Promise<string>(() => {}) });
    const model = scriptedModel([
      calling(call("slow", "1")),
      calling({ type: "text", deltas: ["In short: no."] }, call("slow", "2")),
    ]);
    await using open = await openSession({
      model,
      tools: { slow },
      timeLimits: { turnMs: 30, lastStep: true },
    });
    const turn = await open.session.send("Look it up.");
    expect(await turn.result).toMatchObject({ finishReason: "timed-out", text: "In short: no." });
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain("The time for this turn is up");
    const { toolCalls } = await open.session.view();
    expect(toolCalls.map(({ callId, status }) => [callId, status])).toEqual([
      ["1", "unknown"],
      ["2", "skipped"],
    ]);
  });
});

describe("a turn that goes in circles", () => {
  const same = (id: string) => calling(call("echo", id, { value: "again" }));

  it("ends when the same calls come too often on end", async () => {
    const model = scriptedModel([same("1"), same("2"), same("3"), "Never said."]);
    await using open = await openSession({
      model,
      tools: { echo },
      loopGuard: { calls: 3, texts: 3 },
    });
    const turn = await open.session.send("Go.");
    expect(await turn.result).toMatchObject({ finishReason: "repeating" });
    expect(model.calls).toHaveLength(3);
  });

  it("goes on when the calls differ, or when nobody guards it", async () => {
    const different = calling(call("echo", "2", { value: "something else" }));
    const script = [same("1"), different, same("3"), "Done."];
    const limits = { calls: 2, texts: 2 };
    await using one = await openSession({
      model: scriptedModel(script),
      tools: { echo },
      loopGuard: limits,
    });
    expect(await (await one.session.send("Go.")).result).toMatchObject({ finishReason: "stop" });
    await using other = await openSession({
      model: scriptedModel([same("1"), same("2"), same("3"), "Done."]),
      tools: { echo },
      loopGuard: false,
    });
    expect(await (await other.session.send("Go.")).result).toMatchObject({ finishReason: "stop" });
  });
});
