/** The queue while a turn runs: what waits can be moved and taken back, and stopping leaves it alone. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession } from "../support/with-runtime.ts";

const nothing = z.object({});

it("a waiting message can be moved to the other kind of delivery, both ways", async () => {
  const hold = gate();
  const idle = tool({ inputSchema: nothing, execute: () => "ok" });
  const model = scriptedModel([calling(hold, call("idle", "1")), "Heard.", "And that."]);
  await using open = await openSession({ model, tools: { idle } });
  const first = await open.session.send("Work.");
  await hold.reached;
  const later = await open.session.send("One", { id: "one" });
  await open.session.send("Two", { id: "two", delivery: "steer" });
  await open.session.reschedule("one", "steer");
  await open.session.reschedule("two", "follow-up");
  hold.open();
  await first.result;
  await open.session.idle();
  const delivered = (await open.events()).filter((event) => event.type === "message.delivered");
  expect(delivered.map(({ data }) => [data.ids.at(-1), data.turn, data.boundary])).toEqual([
    [first.messageId, 1, "turn"],
    ["one", 1, "step"],
    ["two", 2, "turn"],
  ]);
  expect(await later.result).toMatchObject({ turn: 1 });
  await expect(open.session.reschedule("one", "steer")).rejects.toMatchObject({
    code: "COMMAND_REFUSED",
  });
});

describe("cancelling", () => {
  it("after the tools lets the step come to its end, and keeps all its results", async () => {
    const entered = Promise.withResolvers<void>();
    const leave = Promise.withResolvers<string>();
    const slow = tool({
      inputSchema: nothing,
      execute: () => {
        entered.resolve();
        return leave.promise;
      },
    });
    const model = scriptedModel([calling(call("slow", "1")), "Never said."]);
    await using open = await openSession({ model, tools: { slow } });
    const turn = await open.session.send("Go.");
    await entered.promise;
    const cancelled = open.session.cancel({ mode: "after-tools" });
    await seen(open.session, "turn.cancel-requested");
    leave.resolve("found");
    expect(await cancelled).toMatchObject({
      was: "tools",
      turn: 1,
      ended: "cancelled",
      kept: { calls: [{ callId: "1", toolName: "slow", status: "succeeded" }] },
    });
    expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    expect(model.calls).toHaveLength(1);
  });

  it("now hurries a turn that was to stop after its tools", async () => {
    const entered = Promise.withResolvers<void>();
    const stuck = tool({
      inputSchema: nothing,
      execute: () => {
        entered.resolve();
        return new Promise<string>(() => {});
      },
    });
    await using open = await openSession({
      model: scriptedModel([calling(call("stuck", "1"))]),
      tools: { stuck },
    });
    await open.session.send("Go.");
    await entered.promise;
    const patient = open.session.cancel({ mode: "after-tools" });
    await seen(open.session, "turn.cancel-requested");
    expect(await open.session.cancel()).toMatchObject({
      ended: "cancelled",
      kept: { calls: [{ status: "unknown" }] },
    });
    expect(await patient).toMatchObject({ ended: "cancelled" });
  });

  it("says what is kept, leaves the queue alone, and takes it back when asked to", async () => {
    const hold = gate();
    const model = scriptedModel([saying("Half ", hold), saying("Other ", gate())]);
    await using open = await openSession({ model });
    await open.session.send("Go.");
    await hold.reached;
    await open.session.send("Later", { id: "later" });
    expect(await open.session.cancel()).toEqual({
      was: "streaming",
      turn: 1,
      ended: "cancelled",
      kept: { text: "Half ", calls: [] },
      withdrawn: [],
    });
    expect((await open.session.view()).queue.map(({ id }) => id)).toEqual(["later"]);
    expect(await open.session.cancel({ withdraw: true })).toEqual({
      was: "idle",
      turn: undefined,
      ended: undefined,
      kept: { text: "", calls: [] },
      withdrawn: ["later"],
    });
    expect((await open.session.view()).queue).toEqual([]);
  });
});
