/** Options of a message, and the settings that `prepareCall` makes of them for its turn. */

import { isStepCount } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import {
  openMemoryLog,
  summarize,
  tokens,
  verifySession,
  type Agent,
} from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { eventually } from "../support/eventually.ts";
import { storedEvents } from "../support/replay.ts";
import { call, calling } from "../support/script.ts";
import { severableLog } from "../support/severed-log.ts";
import { openSession } from "../support/with-runtime.ts";
import { containing, echo } from "./tools.ts";

const callOptionsSchema = z.object({ topic: z.string() });

function topicOf(options: unknown): string {
  return callOptionsSchema.safeParse(options).data?.topic ?? "anything";
}

/** An agent whose instructions and temperature come from the options of the message. */
const told: Omit<Agent, "model"> = {
  tools: { echo },
  instructions: "Talk.",
  callOptionsSchema,
  prepareCall: ({ options, ...settings }) => ({
    ...settings,
    instructions: `Talk about ${topicOf(options)}.`,
    temperature: 0,
  }),
};

const steps = () => [calling(call("echo", "1", { value: 1 })), "Done.", "Done."];

describe("options of a message", () => {
  it("make the settings of its turn, and of no other", async () => {
    const model = scriptedModel(steps());
    await using open = await openSession({ ...told, model });
    await (
      await open.session.send("Go.", { options: { topic: "cats" } })
    ).result;
    await (
      await open.session.send("Go on.")
    ).result;
    expect(model.calls.map(({ prompt, temperature }) => [prompt[0]?.content, temperature])).toEqual(
      [
        ["Talk about cats.", 0],
        ["Talk about cats.", 0],
        ["Talk about anything.", 0],
      ],
    );
    expect(await verifySession(open.log, "s")).toMatchObject({ problems: [] });
    const asked = (): never => {
      throw new Error("Asked in a replay.");
    };
    const found = await replay(await open.events(), { ...told, model, prepareCall: asked });
    expect(found).not.toHaveProperty("difference");
  });

  it("that change no setting leave nothing in the log", async () => {
    const prepareCall: Agent["prepareCall"] = ({ options: _, ...settings }) => settings;
    await using open = await openSession({ model: scriptedModel(["Done."]), prepareCall });
    await (
      await open.session.send("Go.", { options: { topic: "cats" } })
    ).result;
    expect(await open.types()).not.toContain("step.prepared");
  });

  it("are refused before the message is accepted, if they do not fit or nothing reads them", async () => {
    const model = scriptedModel(["Done."]);
    await using open = await openSession({ ...told, model });
    const sent = open.session.send("Go.", { options: { topic: 5 } });
    await expect(sent).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: containing("callOptionsSchema"),
    });
    await using plain = await openSession({ model });
    const useless = plain.session.send("Go.", { options: {} });
    await expect(useless).rejects.toMatchObject({ message: containing("no `prepareCall`") });
    expect(await open.types()).not.toContain("message.queued");
  });

  it("may change messages, tools and when the turn stops", async () => {
    const model = scriptedModel(() =>
      calling(call("echo", `c${model.calls.length}`, { value: 1 })),
    );
    await using open = await openSession({
      model,
      tools: { echo, other: echo },
      prepareCall: ({ options: _, messages, ...settings }) => ({
        ...settings,
        activeTools: ["echo"],
        stopWhen: isStepCount(2),
        messages: [...(messages ?? []), { role: "user", content: "In short." }],
      }),
    });
    const turn = await open.session.send("Go.");
    expect(await turn.result).toMatchObject({ finishReason: "stop-condition" });
    expect(model.calls).toHaveLength(2);
    for (const { prompt, tools = [] } of model.calls) {
      expect(JSON.stringify(prompt)).toContain("In short.");
      expect(tools.map(({ name }) => name)).not.toContain("other");
    }
  });

  it("are those of their turn, also after one that was cancelled between its preparation and its first step", async () => {
    const model = scriptedModel(["Done. ".repeat(200), "Dogs."]);
    const summarising = gate();
    let asked = 0;
    const agent: Agent = {
      ...told,
      model,
      prepareStep: () => ({ topK: ++asked }),
      context: {
        compact: {
          when: tokens(200),
          how: summarize({ model: scriptedModel([{ parts: [summarising] }]) }),
        },
      },
    };
    await using open = await openSession(agent);
    const { session } = open;
    await (
      await session.send("Go.", { options: { topic: "cats" } })
    ).result;
    const birds = await session.send("Go.", { options: { topic: "birds" } });
    await summarising.reached;
    await session.cancel();
    await birds.result;
    await (
      await session.send("Go.", { options: { topic: "dogs" } })
    ).result;
    expect(model.calls.map(({ prompt, topK }) => [prompt[0]?.content, topK])).toEqual([
      ["Talk about cats.", 1],
      ["Talk about dogs.", 3],
    ]);
    expect(await replay(await open.events(), agent)).not.toHaveProperty("difference");
  });

  it("stop after twenty steps where they say nothing of when", async () => {
    const model = scriptedModel(() =>
      calling(call("echo", `c${model.calls.length}`, { value: model.calls.length })),
    );
    await using open = await openSession({
      model,
      tools: { echo },
      prepareCall: ({ options: _, stopWhen: __, ...settings }) => settings,
    });
    const turn = await open.session.send("Go.");
    expect(await turn.result).toMatchObject({ finishReason: "stop-condition" });
    expect(model.calls).toHaveLength(20);
  });

  it("come from contextFor after a restart", async () => {
    const hold = gate();
    const log = await openMemoryLog();
    const mortal = severableLog(log);
    const first = scriptedModel([calling(call("echo", "1", { value: 1 })), calling(hold)]);
    const open = await openSession({ ...told, model: first }, { log: mortal });
    await open.session.send("Go.", { options: { topic: "cats" } });
    await hold.reached;
    mortal.sever();
    const model = scriptedModel(["Done."]);
    await using again = await openSession(
      { ...told, model },
      { log, recovery: "continue", contextFor: () => ({ options: { topic: "cats" } }) },
    );
    await again.session.idle();
    expect(model.calls[0]).toMatchObject({ temperature: 0 });
    expect(model.calls[0]?.prompt[0]?.content).toBe("Talk about cats.");
  });

  it("leave prepareStep to be asked after a restart that met it unanswered", async () => {
    const asked = gate();
    const log = await openMemoryLog();
    const mortal = severableLog(log);
    const never = async (): Promise<never> => {
      asked.open();
      return await new Promise<never>(() => {});
    };
    const dying = { ...told, prepareStep: never, model: scriptedModel([]) };
    const open = await openSession(dying, { log: mortal });
    await open.session.send("Go.", { options: { topic: "cats" } });
    await asked.until;
    await eventually(async () => {
      expect((await storedEvents(log, "s")).at(-1)).toMatchObject({ type: "step.prepared" });
    });
    mortal.sever();
    const model = scriptedModel(["Done."]);
    const agent = { ...told, model, prepareStep: () => ({ topP: 0.5 }) };
    await using again = await openSession(agent, {
      log,
      recovery: "continue",
      contextFor: () => ({ options: { topic: "cats" } }),
    });
    await again.session.idle();
    expect(model.calls).toMatchObject([{ temperature: 0, topP: 0.5 }]);
    expect(model.calls[0]?.prompt[0]?.content).toBe("Talk about cats.");
    expect(await verifySession(log, "s")).toMatchObject({ problems: [] });
    const { difference } = await replay(await again.events(), { ...agent, model });
    expect(difference).toBeUndefined();
  });

  it("fail the turn by name if prepareCall throws, and the next message works", async () => {
    let isBroken = true;
    const model = scriptedModel(["Done."]);
    await using open = await openSession({
      model,
      prepareCall: ({ options: _, ...settings }) => {
        if (isBroken) throw new Error("No idea.");
        return { ...settings };
      },
    });
    const failing = (await open.session.send("Go.")).result;
    await expect(failing).rejects.toMatchObject({
      cause: { message: containing("`prepareCall` threw: No idea.") },
    });
    isBroken = false;
    expect(await (await open.session.send("Go on.")).result).toMatchObject({ text: "Done." });
  });
});
