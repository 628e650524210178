/** A replay may let differ what a prompt says, by name, and still checks what the agent does. */

import { tool, type ToolSet } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import type { SessionEvent } from "../../src/events/index.ts";
import { createRuntime, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { differenceText, type AllowedDifference } from "../../src/replay/replay-difference.ts";
import { replay } from "../../src/replay/replay.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { call, calling } from "../support/script.ts";

function tools(description: string, field = "A city."): ToolSet {
  return {
    weather: tool({
      description,
      inputSchema: z.object({ city: z.string().describe(field) }),
      execute: ({ city }) => `fine in ${city}`,
    }),
  };
}

const agent: Agent = {
  model: scriptedModel(({ prompt }) => {
    if (prompt.at(-1)?.role !== "user") return "Fine.";
    return calling(call("weather", "1", { city: prompt.length > 3 ? "Bonn" : "Ulm" }));
  }),
  instructions: "Be brief.",
  tools: tools("Tells the weather."),
};

async function recorded(): Promise<readonly SessionEvent[]> {
  await using log = await openMemoryLog();
  await using runtime = await createRuntime({ log, agent });
  const session = await runtime.session("s");
  await ask(session, "Ulm?", "m1");
  await ask(session, "Bonn?", "m2");
  return await Array.fromAsync(log.read("s"));
}

async function found(
  change: Partial<Agent>,
  ...allow: readonly AllowedDifference[]
): Promise<string> {
  const { difference } = await replay(await recorded(), { ...agent, ...change }, { allow });
  return difference === undefined ? "" : differenceText(difference);
}

const edited = { instructions: "Be polite, and brief." };
const described = { tools: tools("Says how the weather is.", "The name of a city.") };
const both = ["instructions", "tool-descriptions"] as const;

describe("a replay that allows", () => {
  it.each<[string, Partial<Agent>, readonly AllowedDifference[]]>([
    ["other instructions", edited, ["instructions"]],
    ["other descriptions and schemas of tools", described, ["tool-descriptions"]],
    ["both", { ...edited, ...described }, both],
  ])(
    "%s finds no difference in them, and finds them where it does not",
    async (_, change, allow) => {
      expect(await found(change, ...allow)).toBe("");
      expect(await found(change)).not.toBe("");
    },
  );

  it("what does not differ finds no difference", async () => {
    expect(await found({}, ...both)).toBe("");
  });

  it.each<[string, Partial<Agent>, readonly AllowedDifference[], string]>([
    [
      "other descriptions",
      { ...edited, ...described },
      ["instructions"],
      "The instructions have changed. The tool weather has a different description or input schema.",
    ],
    ["other instructions", edited, ["tool-descriptions"], "The instructions have changed."],
    [
      "another model",
      { ...edited, model: "gpt-x" },
      both,
      "The model was turnlog:scripted and is now gateway:gpt-x. The instructions have changed.",
    ],
    [
      "a new tool",
      { ...edited, tools: { ...agent.tools, map: tool({ inputSchema: z.object({}) }) } },
      both,
      "The instructions have changed. The tool map is new.",
    ],
    [
      "another choice of tools",
      { ...edited, toolChoice: "required" },
      both,
      "The instructions have changed. The tool choice has changed.",
    ],
    [
      "another limit of steps",
      { ...edited, maxSteps: 7 },
      both,
      "At position 3 turn.started differs in `maxSteps`: it was 20 and is 7.",
    ],
    [
      "a result that is told otherwise",
      {
        ...edited,
        tools: {
          weather: {
            ...agent.tools?.["weather"],
            toModelOutput: () => ({ type: "text" as const, value: "?" }),
          },
        } as ToolSet,
      },
      both,
      'tool.succeeded (call 1) differs in `modelOutput`: it was absent and is {"type":"text","value":"?"}.',
    ],
    [
      "a schema that takes the recorded input no more",
      {
        tools: {
          weather: tool({ inputSchema: z.object({ city: z.number() }), execute: () => "" }),
        },
      },
      both,
      "part.tool-call",
    ],
    [
      "a call that needs approval now",
      { ...edited, toolApproval: () => "user-approval" as const },
      both,
      "the session has tool.started (weather), but the replay has tool.approval-requested (weather).",
    ],
  ])("finds %s, and says so in the first sentence", async (_, change, allow, sentence) => {
    const text = await found(change, ...allow);
    expect(text.split("\n")[0]).toContain(sentence);
    expect(text.split("\n")[1]).toMatch(/^At position \d+ the session was$/);
  });

  it("other instructions still compares the messages of each prompt", async () => {
    const events = await recorded();
    const steps = events.filter((event) => event.type === "step.started");
    expect(steps).toHaveLength(4);
    for (const { position, data } of steps) {
      const altered = events.map((event) =>
        event.position === position && event.type === "step.started"
          ? { ...event, data: { ...event.data, promptDigest: "0".repeat(64) } }
          : event,
      );
      const { difference } = await replay(altered, { ...agent, ...edited }, { allow: both });
      expect(difference?.position).toBe(position);
      expect(difference && differenceText(difference)).toMatch(
        new RegExp(`^Step ${data.step} gets a different prompt\\.\n`),
      );
    }
  });

  it.each([["prompts"], "instructions", [undefined], null])(
    "%j is refused, with what can be allowed",
    async (allow) => {
      const asked = replay(await recorded(), agent, { allow: allow as never });
      await expect(asked).rejects.toMatchObject({ code: "INVALID_INPUT" });
      await expect(asked).rejects.toThrow(
        '`allow` is a list of "instructions" and "tool-descriptions"',
      );
    },
  );
});

it("a difference begins with what is missing, or too much", async () => {
  const events = await recorded();
  const less = await replay(events.slice(0, -1), agent);
  expect(less.difference && differenceText(less.difference)).toMatch(
    /^The session ended before position \d+, but the replay continues with turn\.ended\.\n/,
  );
  const { tools: _, ...without } = agent;
  const gone = await replay(events, without);
  expect(gone.difference && differenceText(gone.difference)).toMatch(
    /^The tool weather is gone\. .*\nAt position 1 /,
  );
});
