/** The log has everything that a step sent: instructions, tools and settings as texts, each stored once. */

import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import {
  createRuntime,
  encryptedLog,
  memoryKeys,
  openMemoryLog,
  verifySession,
  type Agent,
  type SessionEvent,
} from "../../src/public/index.ts";
import { standing, textEvent } from "../../src/projections/index.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";

const look = (description = "Looks."): ToolSet[string] =>
  tool({ description, inputSchema: z.object({ at: z.string() }), execute: () => "seen" });

const RULES = Array.from({ length: 200 }, (_, rule) => `Rule ${rule}: be brief.`).join("\n");

function agentOf(change: Partial<Agent> = {}): Agent {
  return {
    model: scriptedModel([calling(call("look", "c1", { at: "x" })), "Done.", "Done again."]),
    instructions: "You look.",
    tools: { look: look() },
    temperature: 0.5,
    providerOptions: { gateway: { order: ["a"], byok: { a: [{ key: "secret-key-4711" }] } } },
    headers: { authorization: "secret-header-4711" },
    ...change,
  };
}

function textsOf(events: readonly SessionEvent[]): readonly string[] {
  return events.flatMap(({ type, data }) => (type === "prompt.text" ? [data.text] : []));
}

describe("the prompt of a step", () => {
  it("is whole in the log: instructions, tools and settings, each text stored once", async () => {
    await using open = await openSession(agentOf());
    for (const text of ["One.", "Two."]) await (await open.session.send(text)).result;
    const events = await open.events();
    const steps = events.filter(({ type }) => type === "step.started");
    expect(steps).toHaveLength(3);
    for (const { position } of steps) {
      const { prompt } = await open.session.at(position - 1);
      expect(prompt.instructions.text).toBe("You look.");
      expect(prompt.tools.map(({ name }) => name)).toEqual(["look", "read_tool_output"]);
      expect(JSON.parse(prompt.tools[0]?.text ?? "")).toMatchObject({
        name: "look",
        description: "Looks.",
        inputSchema: { properties: { at: { type: "string" } } },
      });
      expect(prompt.settings).toEqual({
        temperature: 0.5,
        providerOptions: { gateway: { order: ["a"] } },
      });
    }
    expect(textsOf(events)).toHaveLength(3);
    const first = events.findIndex(({ type }) => type === "prompt.text");
    expect(first).toBeLessThan(events.findIndex(({ type }) => type === "step.started"));
    expect(JSON.stringify(events)).not.toContain("4711");
  });

  it("has what a deployment changed, and the difference names the tool and its lines", async () => {
    const log = await openMemoryLog();
    const first = await openSession(agentOf(), { log });
    await (
      await first.session.send("One.")
    ).result;
    await first.runtime.close();
    const changed = agentOf({
      model: scriptedModel(["Done."]),
      instructions: "You look.\nYou listen.",
      tools: { look: look("Looks twice."), ask: look("Asks.") },
      temperature: 0.7,
    });
    await using open = await openSession(changed, { log });
    await (
      await open.session.send("Two.")
    ).result;
    const events = await open.events();
    const steps = events.filter(({ type }) => type === "step.started");
    const [before = 0, after = 0] = [steps[0]?.position, steps.at(-1)?.position].map(
      (at = 1) => at - 1,
    );
    const { standing, agentChanged } = await open.session.diff(before, after);
    expect(agentChanged).toBe(true);
    expect(standing).toEqual([
      {
        part: "instructions",
        kind: "changed",
        lines: { from: 2, removed: [], added: ["You listen."] },
      },
      {
        part: "tool",
        kind: "changed",
        name: "look",
        lines: {
          from: 3,
          removed: ['  "description": "Looks.",'],
          added: ['  "description": "Looks twice.",'],
        },
      },
      { part: "tool", kind: "added", name: "ask" },
      {
        part: "settings",
        kind: "changed",
        lines: { from: 2, removed: ['  "temperature": 0.5,'], added: ['  "temperature": 0.7,'] },
      },
    ]);
    expect((await open.session.at(before)).prompt.instructions.text).toBe("You look.");
  });

  it("has the order of the tools of each step, and the difference tells both", async () => {
    const tools = { look: look(), ask: look("Asks.") };
    const prepareStep = ({ stepNumber }: { readonly stepNumber: number }) =>
      stepNumber === 0 ? {} : { toolOrder: ["read_tool_output", "look", "ask"] };
    await using open = await openSession(agentOf({ tools, prepareStep }));
    await (
      await open.session.send("One.")
    ).result;
    const events = await open.events();
    const [before = 0, after = 0] = events.flatMap(({ type, position }) =>
      type === "step.started" ? [position - 1] : [],
    );
    expect((await open.session.diff(before, after)).standing).toEqual([
      {
        part: "tools",
        kind: "reordered",
        before: ["look", "ask", "read_tool_output"],
        after: ["read_tool_output", "look", "ask"],
      },
    ]);
  });

  it("has the settings of each step, as prepareStep changed them", async () => {
    const prepareStep = ({ stepNumber }: { readonly stepNumber: number }) =>
      stepNumber === 0 ? {} : { temperature: 1, toolChoice: "none" as const };
    await using open = await openSession(agentOf({ prepareStep }));
    await (
      await open.session.send("One.")
    ).result;
    const events = await open.events();
    const sent = events.filter(({ type }) => type === "step.started");
    const settings = await Promise.all(
      sent.map(async ({ position }) => (await open.session.at(position - 1)).prompt.settings),
    );
    expect(settings).toMatchObject([{ temperature: 0.5 }, { temperature: 1, toolChoice: "none" }]);
    expect(settings[0]).not.toHaveProperty("toolChoice");
  });
});

describe("instructions that change at every step", () => {
  const clock = (prepare: "prepareStep" | "prepareCall"): Agent => {
    let now = 0;
    const told = (): string => {
      now += 1;
      return `${RULES}\nIt is ${now} o'clock.\n${RULES}`;
    };
    const model = scriptedModel([calling(call("look", "c1", { at: "x" })), "Done.", "Done."]);
    return prepare === "prepareStep"
      ? agentOf({ model, prepareStep: () => ({ instructions: told() }) })
      : agentOf({
          model,
          prepareCall: (given) => ({ ...given, instructions: told() }),
        });
  };

  it.each(["prepareStep", "prepareCall"] as const)(
    "are stored as what changed, and read back whole (%s)",
    async (prepare) => {
      await using open = await openSession(clock(prepare));
      for (const text of ["One.", "Two."]) await (await open.session.send(text)).result;
      const events = await open.events();
      const steps = events.filter(({ type }) => type === "step.started");
      const sent = await Promise.all(
        steps.map(
          async ({ position }) => (await open.session.at(position - 1)).prompt.instructions,
        ),
      );
      expect(sent.map(({ text }) => /It is (\d)/.exec(text ?? "")?.[1])).toEqual(
        prepare === "prepareStep" ? ["1", "2", "3"] : ["1", "1", "2"],
      );
      expect(sent.every(({ text }) => text?.endsWith(RULES) === true)).toBe(true);
      // One text is whole; the others are a few characters.
      const long = textsOf(events).filter((text) => text.length > RULES.length);
      expect(long).toHaveLength(1);
      expect(JSON.stringify(events).length).toBeLessThan(2.5 * RULES.length + 12_000);
    },
  );
});

describe("the texts of a prompt", () => {
  it("are content: encrypted, and gone after a redaction, with all texts that are told by them", async () => {
    const stored = await openMemoryLog();
    const log = encryptedLog(stored, memoryKeys());
    let asked = 0;
    const prepareStep = () => ({
      instructions: `The secret is 4711. ${RULES} It is ${String((asked += 1))}.`,
    });
    await using open = await openSession(agentOf({ prepareStep }), { log });
    await (
      await open.session.send("One.")
    ).result;
    const raw = JSON.stringify(await Array.fromAsync(stored.read("s")));
    expect(raw).not.toContain("secret is 4711");
    expect(raw).not.toContain("Looks.");
    const events = await open.events();
    const whole = events.find(
      ({ type, data }) => type === "prompt.text" && data.text.includes("secret"),
    );
    await open.session.redact(whole?.position ?? 0);
    const steps = events.filter(({ type }) => type === "step.started");
    for (const { position } of steps) {
      const { prompt } = await open.session.at(position - 1);
      expect(prompt.instructions.text).toBe("[redacted]");
    }
    expect(await verifySession(log, "s", { every: 1 })).toMatchObject({ problems: [] });
    await (
      await open.session.send("Two.")
    ).result;
  });

  it("come with a fork, which stores none of them again", async () => {
    await using open = await openSession(agentOf());
    await (
      await open.session.send("One.")
    ).result;
    const fork = await open.session.fork();
    await (
      await fork.send("Two.")
    ).result;
    const own = (await Array.fromAsync(open.log.read(fork.id))).slice((await open.events()).length);
    expect(textsOf(own)).toEqual([]);
    expect((await fork.view()).prompt.instructions.text).toBe("You look.");
  });

  it("are absent in a log of an earlier release, which has digests", async () => {
    await using runtime = await createRuntime({ memory: true, agent: agentOf() });
    const session = await runtime.session("s");
    const { prompt } = await session.view();
    expect(prompt.instructions.digest).toHaveLength(64);
    expect(prompt.instructions.text).toBeUndefined();
    expect(
      prompt.tools.every(({ digest, text }) => digest !== undefined && text === undefined),
    ).toBe(true);
    expect(prompt.settings).toBeUndefined();
  });
});

describe("a step that a dead process had prepared", () => {
  /** A turn whose step is prepared and held by a limit; then another process continues. */
  async function heldTwice(change: Partial<Agent>, redacts = false): Promise<readonly unknown[]> {
    const log = encryptedLog(await openMemoryLog(), memoryKeys());
    const limits = { session: { tokens: 50, hold: true } };
    const model = scriptedModel(["A long answer. ".repeat(40), "Done."]);
    const agent = agentOf({ model, tools: {}, ...change });
    const first = await openSession(agent, { log, limits });
    await (
      await first.session.send("One.")
    ).result;
    if (redacts) {
      const events = await first.events();
      const texts = events.filter(({ type }) => type === "prompt.text");
      await first.session.redact(texts.map(({ position }) => position));
    }
    await (await first.session.send("Two.")).untilRest();
    await first.runtime.close();
    await using open = await openSession(agent, { log, limits, recovery: "continue" });
    await open.session.allow({ tokens: 50_000 });
    await open.session.idle();
    expect(await verifySession(log, "s", { every: 1 })).toMatchObject({ problems: [] });
    return model.calls.at(-1)?.prompt ?? [];
  }

  it("is sent as it was recorded, and is prepared only once", async () => {
    let calls = 0;
    const prompt = await heldTwice({
      prepareCall: ({ options: _, ...given }) => ({
        ...given,
        instructions: `Call ${String((calls += 1))}.`,
        messages: [...(given.messages ?? []), { role: "user", content: "EXTRA" }],
      }),
    });
    expect(JSON.stringify(prompt).match(/EXTRA/g)).toHaveLength(1);
    expect(prompt[0]).toMatchObject({ role: "system", content: "Call 2." });
  });

  it("is asked for again if its instructions were redacted", async () => {
    const prompt = await heldTwice(
      { instructions: "OWN.", prepareStep: () => ({ instructions: "Special." }) },
      true,
    );
    expect(prompt[0]).toMatchObject({ role: "system", content: "Special." });
  });
});

it("a text is never cut within a pair of surrogates, and a whole pair is common", () => {
  const [first, second] = ["x".repeat(70) + "😀A🎉", "x".repeat(70) + "😀B🎉"];
  const stored = textEvent(standing.initial, first);
  if (stored === undefined) throw new Error("It is stored.");
  const state = standing.fold(standing.initial, { ...stored, position: 1, time: 0 });
  expect(textEvent(state, second)?.data).toMatchObject({ text: "B", like: { head: 72, tail: 2 } });
  expect(textEvent(state, "x".repeat(70) + "😁A🎉")?.data).toMatchObject({ text: "😁" });
});
