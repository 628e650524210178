/** What a replay says of an agent that is another one: which part of it to look at. */

import { tool, type Tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, type Agent, type SessionEvent } from "../../src/public/index.ts";
import { differenceText } from "../../src/replay/replay-difference.ts";
import { replay } from "../../src/replay/replay.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { readFixture } from "../laws/session-fixture.ts";
import { toolAgent } from "../laws/tool-sessions.ts";

const looking = (description: string): Tool =>
  tool({ description, inputSchema: z.object({ at: z.string() }), execute: () => "" });
const look = looking("Looks.");
const ask = tool({ inputSchema: z.object({}), execute: () => "" });

function agentOf(change: Partial<Agent> = {}): Agent {
  return {
    model: scriptedModel(["Done."]),
    instructions: "You look.",
    tools: { look, ask },
    ...change,
  };
}

async function recorded(): Promise<readonly SessionEvent[]> {
  await using runtime = await createRuntime({ memory: true, agent: agentOf() });
  const session = await runtime.session("s");
  await (
    await session.send("Look.")
  ).result;
  return await Array.fromAsync(runtime.log.read("s"));
}

async function said(events: readonly SessionEvent[], agent: Agent): Promise<string> {
  const { difference } = await replay(events, agent);
  if (difference === undefined) throw new Error("The agent is the same.");
  return differenceText(difference).split("\n")[0] ?? "";
}

describe("an agent that is another one", () => {
  it.each<[string, Partial<Agent>]>([
    ["The model was turnlog:scripted and is now gateway:gpt-x.", { model: "gpt-x" }],
    [
      'The instructions have changed. Line 1 of the instructions was "You look." and is "You listen.".',
      { instructions: "You listen." },
    ],
    [
      String.raw`The tool look has a different description or input schema. Line 3 of the tool look was "  \"description\": \"Looks.\"," and is "  \"description\": \"Looks again.\",".`,
      { tools: { look: looking("Looks again."), ask } },
    ],
    ["The tool ask is gone. The tool tell is new.", { tools: { look, tell: ask } }],
    ["The order of its tools has changed.", { tools: { ask, look } }],
  ])("is told by what it differs: %s", async (words, change) => {
    expect(await said(await recorded(), agentOf(change))).toBe(words);
  });

  it("is found by the one digest of an old recording", async () => {
    const events = (await readFixture("tools")).map((event) => {
      if (event.type !== "session.created") return event;
      const { parts: _, ...agent } = event.data.agent;
      return { ...event, data: { agent } };
    });
    const agent = { ...toolAgent(), instructions: "No." };
    expect(await said(events, agent)).toBe(
      "Its instructions, or a tool's description or input schema, have changed.",
    );
  });
});
