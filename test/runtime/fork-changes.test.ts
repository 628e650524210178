/** Forks that change something: who runs them, or what was said. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { blobReference } from "../../src/events/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { ask, typesBehind } from "../support/asking.ts";
import { lawProblems } from "../support/law-problems.ts";
import { png } from "../support/media.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession, reopen } from "../support/with-runtime.ts";

describe("a fork that changes something", () => {
  it("is run with another model, other instructions and other tools, and so are forks of it", async () => {
    const model = scriptedModel(["One."]);
    await using open = await openSession({ model, instructions: "Be kind." });
    await ask(open.session, "First?");
    const other = {
      ...scriptedModel([calling(call("look", "1")), "Two.", "Three."]),
      modelId: "o",
    };
    const tools = { look: tool({ inputSchema: z.object({}), execute: () => "seen" }) };
    const fork = await open.session.fork({
      id: "f",
      model: other,
      instructions: "Be brief.",
      tools,
    });
    expect(await ask(fork, "Second?")).toBe("Two.");
    expect(JSON.stringify(other.calls[0]?.prompt)).toContain("Be brief.");
    expect(other.calls[0]?.tools?.map(({ name }) => name)).toEqual(["look", "read_tool_output"]);
    const inner = await fork.fork({ id: "g" });
    expect(await ask(inner, "Third?")).toBe("Three.");
    const [forked] = (await storedEvents(open.log, "f")).filter(
      ({ type }) => type === "session.forked",
    );
    expect(forked?.data).toMatchObject({
      agent: { model: { modelId: "o" }, tools: ["look", "read_tool_output"] },
    });
    expect((await storedEvents(open.log, "f")).map(({ type }) => type)).not.toContain(
      "session.configured",
    );
    expect(model.calls).toHaveLength(1);
    for (const id of ["f", "g"]) expect(lawProblems(await storedEvents(open.log, id))).toEqual([]);
    const diff = await fork.diff(1, (await fork.view()).position);
    expect(diff.agentChanged).toBe(true);
  });

  it("is run by the agent of the next process, which is recorded", async () => {
    await using first = await openSession({ model: scriptedModel(["One."]) });
    await ask(first.session, "First?");
    await first.session.fork({ id: "f", instructions: "Be brief." });
    const { position } = await (await first.runtime.session("f")).view();
    await using second = await reopen(first, { model: scriptedModel([]) });
    // Looking at it waits for what was recorded.
    await (await second.runtime.session("f")).view();
    expect(await typesBehind(second, "f", position)).toEqual(["session.configured"]);
  });

  it("says the last message in another way, and leaves the turn before it as it was", async () => {
    const model = scriptedModel(["One.", "Two.", "Another two."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    const { position } = await open.session.view();
    await ask(open.session, "Secnd?");
    const fork = await open.session.fork({ id: "f", edit: "Second?" });
    await fork.idle();
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    expect(prompt).toContain("Second?");
    expect(prompt).not.toContain("Secnd?");
    expect(prompt).toContain("One.");
    const types = await typesBehind(open, "f", position);
    expect(types.slice(0, 4)).toEqual([
      "session.forked",
      "message.queued",
      "turn.started",
      "message.delivered",
    ]);
    // Up to an earlier position, the last message is an earlier one.
    const earlier = await open.session.fork({ position: position, edit: "Zeroth?" });
    expect((await earlier.view()).summary.title).toBe("Zeroth?");
    await earlier.cancel();
  });

  it("takes an edited message back where it already waited in the turn before", async () => {
    const pause = gate();
    const model = scriptedModel([saying("o", pause, "ne"), "Two.", "Another two."]);
    await using open = await openSession({ model });
    await open.session.send("First?");
    await pause.reached;
    await open.session.send("Secnd?", { id: "m2" });
    pause.open();
    await open.session.idle();
    const ended = await seen(open.session, "turn.ended");
    const fork = await open.session.fork({ id: "f", edit: "Second?" });
    await fork.idle();
    const own = await Array.fromAsync(open.log.read("f", { from: ended.position + 1 }));
    expect(own.slice(0, 2)).toMatchObject([
      { type: "session.forked", data: { from: { session: "s", position: ended.position } } },
      { type: "message.withdrawn", data: { ids: ["m2"] } },
    ]);
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    expect(prompt).toContain("Second?");
    expect(prompt).not.toContain("Secnd?");
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });

  it("is not made when what it is to say is refused", async () => {
    const model = scriptedModel(["One.", "Two.", "Three."]);
    const shot = png({ width: 90, height: 60, seed: 1 });
    const larger = png({ width: 120, height: 60, seed: 2 });
    const blobs = { maxBytes: larger.length, maxSessionBytes: larger.length };
    await using open = await openSession({ model }, { blobs });
    const file = (data: Uint8Array | string) =>
      [{ type: "file", data, mediaType: "image/png" }] as const;
    await ask(open.session, "First?");
    await (
      await open.session.send([...file(shot)])
    ).result;
    const refused: readonly (readonly [Uint8Array | string, string])[] = [
      [png({ width: 300, height: 90, seed: 3 }), "BLOB_TOO_LARGE"],
      [blobReference("0".repeat(64)), "INVALID_INPUT"],
    ];
    for (const [data, code] of refused) {
      const forked = open.session.fork({ edit: [...file(data)] });
      await expect(forked).rejects.toMatchObject({ code });
    }
    // Nor has it room beside what it shares.
    await ask(open.session, "Second?");
    const crowded = open.session.fork({ edit: [...file(larger)] });
    await expect(crowded).rejects.toMatchObject({ details: { of: "session" } });
    const sessions = await Array.fromAsync(open.log.list());
    expect(sessions.map((one) => one.session)).toEqual(["s"]);
    const fork = await open.session.fork({ edit: [...file(shot)] });
    await fork.idle();
    expect(lawProblems(await storedEvents(open.log, fork.id))).toEqual([]);
  });

  it("edits a message that steered a turn in the middle of that turn", async () => {
    const pause = gate();
    const look = tool({ inputSchema: z.object({}), execute: () => "seen" });
    const model = scriptedModel([
      { parts: [{ type: "text", deltas: ["well", pause] }, call("look", "1")] },
      "Left.",
      "Right.",
    ]);
    await using open = await openSession({ model, tools: { look } });
    const turn = await open.session.send("Look.");
    await pause.reached;
    await open.session.send("Left!", { delivery: "steer" });
    pause.open();
    await turn.result;
    const fork = await open.session.fork({ id: "f", edit: "Right!" });
    await fork.idle();
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    expect(prompt).toContain("Right!");
    expect(prompt).not.toContain("Left!");
    expect(prompt).toContain("seen");
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });
});
