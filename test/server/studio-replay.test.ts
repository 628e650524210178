/** The studio replays a session with its agent: recorded answers, no call, no event. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { Agent } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { serving } from "./serving.ts";

const replay = "/api/studio/sessions/s/replay";

function counted(): { readonly agent: Agent; readonly counts: Record<string, number> } {
  const counts = { model: 0, tool: 0, finished: 0 };
  const add = tool({
    inputSchema: z.object({ a: z.number() }),
    execute: ({ a }) => {
      counts.tool += 1;
      return a + 1;
    },
  });
  const scripted = scriptedModel([
    { parts: [{ type: "tool-call", toolCallId: "c", toolName: "add", input: { a: 1 } }] },
    { parts: [{ type: "text", deltas: ["It ", "is 2."] }] },
  ]);
  const doStream: typeof scripted.doStream = async (options) => {
    counts.model += 1;
    return await scripted.doStream(options);
  };
  const onEnd = (): void => {
    counts.finished += 1;
  };
  const model = { ...scripted, doStream };
  return { agent: { model, instructions: "Add.", tools: { add }, onEnd }, counts };
}

describe("a replay of the studio", () => {
  it("is equal for the agent that ran, calls nothing, and adds no event", async () => {
    const { agent, counts } = counted();
    await using open = await serving(agent, { studio: true });
    await (
      await (await open.runtime.session("s")).send("Add 1.")
    ).result;
    const before = { ...counts };
    const revision = await open.runtime.log.revision("s");
    expect(await open.json(replay, { method: "POST" })).toEqual({ events: revision });
    expect(counts).toEqual(before);
    expect(before).toEqual({ model: 2, tool: 1, finished: 1 });
    expect(await open.runtime.log.revision("s")).toBe(revision);
  });

  it("says the first difference of a changed agent, with its step and both sides", async () => {
    const { agent } = counted();
    await using open = await serving(agent, { studio: true });
    const session = await open.runtime.session("s");
    await (
      await session.send("Add 1.")
    ).result;
    const add = tool({
      inputSchema: z.object({ a: z.number() }),
      // oxlint-disable-next-line typescript/no-deprecated
      needsApproval: true,
      execute: ({ a }) => a + 1,
    });
    await session.configure({ tools: { add } });
    expect(await open.json(replay, { method: "POST" })).toMatchObject({
      difference: {
        step: 1,
        sentence:
          "At position 15 the session has tool.started (add), but the replay has tool.approval-requested (add).",
        recorded: { type: "tool.started" },
        replayed: { type: "tool.approval-requested" },
      },
    });
  });

  it("is refused without an agent, and to those who may only read", async () => {
    for (const options of [
      { studio: "read-only" },
      {
        studio: true,
        authorize: (_: Request, { action }: { action: string }) =>
          action !== "fork" && ({ audience: "operator" } as const),
      },
    ] as const) {
      await using open = await serving(counted().agent, options);
      await (
        await (await open.runtime.session("s")).send("Add 1.")
      ).result;
      const refused = await open.ask(replay, { method: "POST" });
      expect(refused.status).toBe(403);
      expect(await refused.json()).toMatchObject({ code: "FORBIDDEN" });
    }
  });
});
