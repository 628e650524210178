/** A projection of your own: how often each tool was called, now and at any earlier position. */

import { tool } from "ai";
import { z } from "zod";
import { createRuntime } from "turnlog";
import { defineProjection } from "turnlog/projections";
import { scriptedModel } from "turnlog/testing";

const calls = defineProjection({
  name: "calls-by-tool",
  version: 1, // another number after a change of the fold: stored states of the old one are ignored
  follows: "branch", // as the prompt does: a rewind takes its calls back
  schema: z.record(z.string(), z.number()),
  initial: {},
  on: {
    "part.tool-call": (state, { data: { toolName } }) => ({
      ...state,
      [toolName]: (state[toolName] ?? 0) + 1,
    }),
  },
});

const look = { type: "tool-call", toolCallId: "1", toolName: "look", input: {} } as const;
const agent = {
  model: scriptedModel([{ parts: [look] }, { parts: [look] }, "Green.", "Still green."]),
  tools: { look: tool({ inputSchema: z.object({}), execute: () => "green" }) },
};
await using runtime = await createRuntime({ memory: true, agent });
const session = await runtime.session("traffic");
const turn = await session.send("Which color is it?");
await turn.result;
const { state, position } = await session.project(calls);
console.log(state);
await session.rewind({ beforeTurn: 1 });
console.log((await session.project(calls)).state);
console.log((await session.project(calls, { position })).state);
