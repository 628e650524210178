/** A replay of turns that `prepareCall` prepares, and of turns that end while something is asked before their next step. */

import { isStepCount, tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import type { Agent, RuntimeOptions, Session } from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { allow } from "../support/answering.ts";
import { ask } from "../support/asking.ts";
import { call, calling } from "../support/script.ts";
import { openSession, reopen } from "../support/with-runtime.ts";

const tools = { look: tool({ inputSchema: z.object({}), execute: () => "a map" }) };
const script = () => scriptedModel([calling(call("look", "1", {})), "Done."]);

async function differenceOf(
  agent: Omit<Agent, "model">,
  options: Partial<RuntimeOptions> = {},
  play = async (session: Session): Promise<unknown> => await ask(session, "Look."),
) {
  await using open = await openSession({ tools, ...agent, model: script() }, options);
  await play(open.session);
  const events = await open.events();
  const { difference } = await replay(events, { tools, ...agent, model: script() });
  return { difference, types: events.map(({ type }) => type) };
}

type PrepareCall = NonNullable<Agent["prepareCall"]>;

const settled =
  (changes: object): PrepareCall =>
  ({ options: _, ...settings }) => ({ ...settings, ...changes });

describe("a replay answers from the recording", () => {
  it("for `prepareCall` and `prepareStep` of one step", async () => {
    const { difference, types } = await differenceOf({
      prepareCall: settled({ temperature: 0.1, instructions: "Be brief." }),
      prepareStep: ({ messages }) => ({
        topP: 0.5,
        messages: [{ role: "user", content: "Name your sources." }, ...messages],
      }),
    });
    expect(difference).toBeUndefined();
    expect(types.filter((type) => type === "step.prepared")).toHaveLength(3);
  });

  it("for a turn that another process prepared again after an approval", async () => {
    const agent = {
      tools,
      toolApproval: { look: "user-approval" },
      prepareCall: settled({ temperature: 0.1 }),
      prepareStep: () => ({ topP: 0.5 }),
    } satisfies Omit<Agent, "model">;
    const first = await openSession({ ...agent, model: script() });
    const turn = await first.session.send("Look.", { id: "m" });
    await turn.untilRest();
    await using second = await reopen(first, { ...agent, model: scriptedModel(["Done."]) });
    await allow(second.session, "1");
    await (
      await second.session.turn("m")
    ).result;
    const events = await second.events();
    expect(events.filter(({ type }) => type === "step.prepared")).toHaveLength(4);
    expect((await replay(events, { ...agent, model: script() })).difference).toBeUndefined();
  });

  it("for conditions that are met where another process had prepared the turn again", async () => {
    const agent = {
      tools,
      toolApproval: { look: "user-approval" },
      prepareCall: settled({ temperature: 0.1 }),
      stopWhen: isStepCount(1),
    } satisfies Omit<Agent, "model">;
    const first = await openSession({ ...agent, model: script() });
    await (await first.session.send("Look.", { id: "m" })).untilRest();
    await using second = await reopen(first, { ...agent, model: scriptedModel([]) });
    await allow(second.session, "1");
    await second.session.idle();
    const events = await second.events();
    expect(events.slice(-3).map(({ type }) => type)).toEqual([
      "step.prepared",
      "turn.limit-reached",
      "turn.ended",
    ]);
    const { difference } = await replay(events, { ...agent, model: script() });
    expect(difference).toBeUndefined();
  });

  it("for conditions that `prepareCall` gave the turn", async () => {
    const { difference, types } = await differenceOf({
      prepareCall: settled({ stopWhen: isStepCount(1), temperature: 0.1 }),
    });
    expect(difference).toBeUndefined();
    expect(types).toContain("turn.limit-reached");
  });
});

describe("a replay waits for the recorded end of a turn that was cancelled", () => {
  it("while `prepareCall` was asked", async () => {
    const asked = gate();
    const prepareCall: PrepareCall = async () => {
      asked.open();
      return await new Promise<never>(() => {});
    };
    const { difference, types } = await differenceOf({ prepareCall }, {}, async (session) => {
      const turn = await session.send("Look.");
      await asked.until;
      await session.cancel();
      return await turn.result;
    });
    expect(difference).toBeUndefined();
    expect(types).not.toContain("step.started");
  });

  it("while it waited to be counted by a limit", async () => {
    const onStart = async (): Promise<void> => await new Promise<never>(() => {});
    const limits = { perKey: { user: { tokens: 1_000_000 } } };
    const { difference, types } = await differenceOf({ onStart }, { limits }, async (session) => {
      await session.setMetadata({ user: "ann" });
      const turn = await session.send("Look.");
      await turn.started;
      await session.send([
        { type: "text", text: "Never mind." },
        { type: "file", mediaType: "application/pdf", data: new Uint8Array(5000) },
      ]);
      await session.cancel({ withdraw: true });
      return await turn.result;
    });
    expect(difference).toBeUndefined();
    expect(types).not.toContain("step.started");
  });
});
