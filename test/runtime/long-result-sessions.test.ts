/** Sessions with a long result: killed anywhere, replayed, and run with the built-in tool, another, or none. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, offlineModel, openMemoryLog } from "../../src/public/index.ts";
import { replay, replayTools } from "../../src/replay/index.ts";
import { billingModel, type BillingModel } from "../support/billing-model.ts";
import {
  agentOf,
  book,
  fetching,
  READER,
  reader,
  shown,
  tools,
  turn,
  WINDOW,
} from "../support/long-result.ts";
import { call, calling } from "../support/script.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";

/** Fetches the book, reads on where a result is shown cut, and then says that it has: of any beginning. */
function resumable(): BillingModel {
  return billingModel(
    ({ prompt }) => {
      const text = JSON.stringify(prompt);
      if (text.includes("Characters 500 to 550")) return "Read.";
      const [, name] = /read_tool_output\(\{\\+"call\\+":\\+"(\d+\.1)/.exec(text) ?? [];
      if (name === undefined) return fetching;
      return calling(call(READER, "r", { call: name, from: 500, length: 50 }));
    },
    { window: WINDOW },
  );
}

describe("a session with a long result", () => {
  it("continues from wherever its process dies: the result is cut once, and read on in", async () => {
    const agent = { ...agentOf(resumable()), toolPolicies: { fetch: { idempotent: true } } };
    await using whole = await openSession(agent);
    await turn(whole);
    const events = await whole.events();
    const page = `[Characters 500 to 550 of ${book.length}. They go on from 550.]\n${book.slice(500, 550)}`;
    for (const { position, type } of events.slice(0, -1)) {
      if (type === "session.created" || position < 4) continue;
      await using log = await openMemoryLog();
      await log.append("s", "none", events.slice(0, position));
      const model = resumable();
      await using open = await openSession({ ...agent, model }, { log, recovery: "continue" });
      await open.session.idle();
      const ends = (await open.events()).flatMap((event) =>
        event.type === "tool.succeeded" && event.data.callId === "r" ? [event.data.output] : [],
      );
      expect({ position, ends }).toEqual({ position, ends: [page] });
      const types = await open.types();
      expect(types).not.toContain("tool.unknown");
      const cuts = types.filter((one) => one === "context.cut");
      expect({ position, cuts: cuts.length, refused: model.refused }).toEqual({
        position,
        cuts: 1,
        refused: 0,
      });
    }
  });

  it("happens again as it was recorded, its cut and its pages included", async () => {
    const agent = agentOf(resumable());
    await using open = await openSession(agent);
    await turn(open);
    const events = await open.events();
    expect(await replay(events, agent)).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
    const { difference } = await replay(events, agentOf(resumable(), { cut: { share: 0.1 } }));
    expect(difference?.recorded?.type).toBe("context.cut");
  });

  it("can be run with tools made from the log alone, of which one reads results in the place of ours", async () => {
    await using open = await openSession(agentOf(resumable()));
    await turn(open);
    const recorded = replayTools(await open.events());
    await using again = await openSession({ ...agentOf(resumable()), tools: recorded });
    await turn(again);
    const outputs = async (one: OpenSession): Promise<readonly unknown[]> =>
      (await one.events()).flatMap((event) =>
        event.type === "tool.succeeded" ? [event.data.output] : [],
      );
    expect(await outputs(again)).toEqual(await outputs(open));
  });

  it("shows it whole to those who want it so, and offers no tool to those who do not want that", async () => {
    const names = (model: BillingModel): unknown => model.calls[0]?.tools?.map(({ name }) => name);
    const huge = billingModel([fetching, "Read."]);
    await using whole = await openSession({
      model: huge,
      tools,
      context: { cut: false, compact: false },
    });
    await turn(whole);
    expect([shown(huge, 1, "f") === book, names(huge)]).toEqual([true, ["fetch"]]);

    const silent = reader("Read.");
    await using open = await openSession(agentOf(silent, { cut: { reader: false } }));
    await turn(open);
    expect(shown(silent, 1, "f")).toMatch(/\[\d+ of \d+ characters left out here\.\]/);
    expect(names(silent)).toEqual(["fetch"]);

    const usual = reader("Read.");
    await using offered = await openSession(agentOf(usual));
    await turn(offered);
    expect(names(usual)).toEqual(["fetch", READER]);
    const [created] = await offered.events();
    expect(created?.data).toMatchObject({ agent: { tools: ["fetch", READER] } });
  });

  it("of the offline model has it whole, as that reads whatever it is given", async () => {
    const matches = Array.from({ length: 3000 }, (_, line) => ({
      file: "log.txt",
      line,
      text: "the tale of the ship",
    }));
    const search_files = tool({ inputSchema: z.looseObject({}), execute: () => ({ matches }) });
    await using open = await openSession({ model: offlineModel(), tools: { search_files } });
    const { text } = await (await open.session.send('search for "tale"')).result;
    expect(text).toContain("3,000 lines");
    expect(await open.types()).not.toContain("context.cut");
  });

  it("refuses a share of the prompt that is not between 0 and 1", async () => {
    for (const share of [0, -1, 1.5, Number.NaN]) {
      const agent = agentOf(reader("x"), { cut: { share } });
      await expect(createRuntime({ memory: true, agent })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    }
  });

  it("answers a model that asks for a missing result", async () => {
    const model = reader(calling(call(READER, "r", { call: "7.1" })), "Then not.");
    await using open = await openSession(agentOf(model));
    await turn(open);
    expect(shown(model, 2, "r")).toContain('There is no result of a call "7.1"');
  });
});
