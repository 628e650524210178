/** Forks that change something: who runs them, or what was said. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { ask, typesBehind } from "../support/asking.ts";
import { lawProblems } from "../support/law-problems.ts";
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

  it("has nothing of the former agent where it is given another one", async () => {
    const tools = { look: tool({ inputSchema: z.object({}), execute: () => "seen" }) };
    const model = scriptedModel(["One."]);
    await using open = await openSession({ model, instructions: "Be kind.", tools });
    await ask(open.session, "First?");
    const other = scriptedModel(["Two."]);
    const fork = await open.session.fork({ id: "f", agent: { model: other } });
    expect(await ask(fork, "Second?")).toBe("Two.");
    expect(JSON.stringify(other.calls[0]?.prompt)).not.toContain("Be kind.");
    expect(other.calls[0]?.tools?.map(({ name }) => name) ?? []).not.toContain("look");
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

  it("says a message of what it shares in another way, and the other session keeps both", async () => {
    const model = scriptedModel(["One.", "Two.", "Another two."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    await (
      await open.session.send("Secnd?", { id: "m2" })
    ).result;
    const before = await open.events();
    const fork = await open.session.fork({ id: "f" });
    const edited = await fork.send("Second?", { replaces: "m2" });
    expect((await edited.result).text).toBe("Another two.");
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    expect(prompt).toContain("Second?");
    expect(prompt).not.toContain("Secnd?");
    expect(prompt).toContain("One.");
    expect(await open.events()).toEqual(before);
    expect(await fork.branches()).toMatchObject([{ id: 1 }, { parent: 1 }]);
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });

  it.each([
    [{ edit: "Other." }, /`send\(text, \{ replaces: messageId \}\)`/],
    [{ undo: true }, /`rewind\(\{ beforeTurn \}\)`/],
  ])("is refused with %o, and names the command that does that", async (former, message) => {
    await using open = await openSession({ model: scriptedModel(["One."]) });
    await ask(open.session, "First?");
    const refused = open.session.fork({ id: "f", ...former });
    await expect(refused).rejects.toMatchObject({ code: "INVALID_INPUT", message });
    expect((await Array.fromAsync(open.log.list())).map(({ session }) => session)).toEqual(["s"]);
  });

  it("that an earlier release made to edit a message, which it withdrew, opens and continues", async () => {
    const pause = gate();
    const model = scriptedModel([saying("o", pause, "ne"), "Two.", "Another two."]);
    await using open = await openSession({ model });
    await open.session.send("First?");
    await pause.reached;
    await open.session.send("Secnd?", { id: "m2" });
    pause.open();
    await open.session.idle();
    const { position } = await seen(open.session, "turn.ended");
    const from = { session: "s", position };
    await open.log.fork("f", [
      { type: "session.forked", time: 1, data: { from } },
      { type: "message.withdrawn", time: 1, data: { ids: ["m2"] } },
    ]);
    const fork = await open.runtime.session("f");
    expect(await ask(fork, "Second?")).toBe("Another two.");
    const prompt = JSON.stringify(model.calls[2]?.prompt);
    expect(prompt).toContain("First?");
    expect(prompt).not.toContain("Secnd?");
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });
});
