/** A turn that is run again, live, from its beginning or from one of its steps on. */

import { describe, expect, it } from "vitest";
import type { EventBody } from "../../src/events/index.ts";
import { openMemoryLog, type Turn } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { rerunPoint } from "../../src/state/index.ts";
import { agent, asked, stepStarted } from "../projections/session-of.ts";
import { lawProblems } from "../support/law-problems.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";

/** A session whose second turn has three steps: two with a call each, then an answer. */
async function talked(): Promise<OpenSession> {
  const model = scriptedModel([
    "Hello.",
    calling({ type: "text", deltas: ["First look. "] }, call("echo", "1", { value: "one" })),
    calling(call("echo", "2", { value: "two" })),
    "Old answer.",
  ]);
  const open = await openSession({ model, tools: { echo } });
  for (const text of ["Hi.", "Look twice."]) {
    await (
      await open.session.send(text)
    ).result;
  }
  return open;
}

async function typesOf(turn: Turn): Promise<readonly string[]> {
  const types = [];
  for await (const { type } of turn) types.push(type);
  return types;
}

const other = (...replies: readonly string[]) => ({ ...scriptedModel(replies), modelId: "other" });

describe("rerun", () => {
  it("continues with the last turn from its first step on, in a fork, with another model", async () => {
    await using open = await talked();
    const before = await storedEvents(open.log, "s");
    const model = other("New answer.");
    const { session, turn } = await open.session.rerun({ id: "again", model });
    expect(await turn.result).toMatchObject({ text: "New answer.", finishReason: "stop" });
    expect(model.calls[0]?.prompt.map(({ role }) => role)).toEqual(["user", "assistant", "user"]);
    // The turn is told whole: how it began is shared.
    const types = await typesOf(turn);
    expect(types.slice(0, 2)).toEqual(["turn.started", "message.delivered"]);
    expect(types.at(-1)).toBe("turn.ended");
    expect(session.id).toBe("again");
    expect(await storedEvents(open.log, "s")).toEqual(before);
    expect(lawProblems(await storedEvents(open.log, "again"))).toEqual([]);
  });

  it("begins with the step that is named, and what came before it stays", async () => {
    await using open = await talked();
    const model = other("New answer.");
    const { session, turn } = await open.session.rerun({ step: 3, model });
    expect((await turn.result).text).toBe("New answer.");
    const prompt = JSON.stringify(model.calls[0]?.prompt);
    expect(prompt).toContain("First look.");
    expect(prompt).not.toContain("two");
    const { usage } = await session.view();
    expect(usage.steps.map(({ step }) => step)).toEqual([1, 2, 3]);
    expect(lawProblems(await storedEvents(open.log, session.id))).toEqual([]);
  });

  it("continues from the middle of a reply as after a crash there", async () => {
    await using open = await talked();
    const events = await storedEvents(open.log, "s");
    const said = events.find(
      ({ type, data }) => type === "part.text-delta" && data.text === "First look. ",
    );
    const model = other("New answer.");
    const { turn } = await open.session.rerun({ position: said?.position ?? 0, model });
    expect((await turn.result).text).toContain("New answer.");
    expect(JSON.stringify(model.calls[0]?.prompt)).toContain("First look.");
    expect(await typesOf(turn)).toContain("session.recovered");
  });

  it("says so where no turn was under way, and makes no fork", async () => {
    await using open = await talked();
    const { position } = await open.session.view();
    await expect(open.session.rerun({ position: position })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    await expect(open.session.rerun({ step: 9 })).rejects.toMatchObject({ code: "INVALID_INPUT" });
    expect(await Array.fromAsync(open.log.list(), ({ session }) => session)).toEqual(["s"]);
  });
});

describe("the turn of a message", () => {
  it("can be had again by the message's id, and that of a message that never came cannot", async () => {
    await using open = await talked();
    const { messageId } = await open.session.send("Once more.");
    const turn = await open.session.turn(messageId);
    expect(turn.messageId).toBe(messageId);
    expect((await typesOf(turn)).at(-1)).toBe("turn.ended");
    await expect(open.session.turn("nobody")).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });
});

it("finds the first step of a turn that is still in it", async () => {
  await using log = await openMemoryLog();
  const created: EventBody = { type: "session.created", data: { agent } };
  const bodies = [created, ...asked("Go."), stepStarted(1)];
  const events = bodies.map((body, time) => ({ time, ...body }));
  await log.append("s", "none", events, { origin: "copied" });
  expect(await rerunPoint(log, "s", {})).toMatchObject({ position: bodies.length - 1 });
});
