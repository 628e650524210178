/** A session to record: tools in every way in which a call can go. */

import { tool } from "ai";
import { z } from "zod";
import type { Agent, Session } from "../../src/public/index.ts";
import { scriptedModel, type ScriptedPart } from "../../src/models/index.ts";
import { idOfCall } from "../support/answering.ts";
import { seen } from "../support/seen.ts";
import type { Stage } from "./stage.ts";
import { call } from "../support/script.ts";

const city = z.object({ city: z.string() });

const tools = {
  weather: tool({
    description: "The weather of a city.",
    inputSchema: city,
    // What JSON cannot hold is stored as JSON has it, and the live session must hold the same.
    execute: async ({ city }) => ({
      city,
      degrees: city.length,
      sky: null,
      wind: undefined,
      at: new Date(0),
    }),
    toModelOutput: ({ output }) => ({
      type: "content",
      value: [{ type: "text", text: `${output.degrees} degrees in ${output.city}` }],
    }),
  }),
  map: tool({
    inputSchema: city,
    execute: async function* ({ city }) {
      yield { drawn: 0.5 };
      yield `a map of ${city}`;
    },
  }),
  train: tool({
    inputSchema: city,
    execute: async ({ city }): Promise<string> => {
      throw new RangeError(`No train goes to ${city}.`, { cause: { line: 7 } });
    },
  }),
  book: tool({
    inputSchema: city,
    // Deprecated in favour of a setting of `streamText`; a tool that is taken unchanged has it.
    // oxlint-disable-next-line typescript/no-deprecated
    needsApproval: true,
    execute: async ({ city }) => `A bed in ${city} is yours.`,
  }),
};

const thinking: ScriptedPart = {
  type: "reasoning",
  deltas: ["First ", "the weather, ", "then the way."],
  providerMetadata: { turnlog: { signature: "s1gn3d" } },
};

export function toolAgent(): Agent {
  return {
    instructions: "You plan journeys.",
    toolCallConcurrency: 2,
    tools,
    model: scriptedModel([
      {
        parts: [
          thinking,
          { type: "text", deltas: ["Let me ", "look."] },
          call("weather", "1", { city: "Ulm" }),
          call("map", "2", { city: "Ulm" }),
          call("train", "3", { city: "Ulm" }),
        ],
      },
      {
        parts: [
          call("weather", "1", { town: "Ulm" }),
          call("weather", "2", "{ not JSON"),
          call("teleport", "3", { city: "Ulm" }),
          {
            type: "raw-part",
            part: {
              type: "source",
              sourceType: "url",
              id: "s",
              url: "https://ulm.invalid",
              title: "Ulm",
            },
          },
          {
            type: "raw-part",
            part: {
              type: "file",
              mediaType: "image/png",
              data: { type: "data", data: "iVBORw0KGgo=" },
            },
          },
        ],
      },
      { parts: [call("book", "1", { city: "Ulm" }), call("book", "2", { city: "Bonn" })] },
      { parts: [{ type: "text", deltas: ["Ulm is booked", ", Bonn is not."] }] },
      {
        parts: [
          {
            type: "raw-part",
            part: {
              type: "tool-call",
              toolCallId: "p1",
              toolName: "search",
              input: '{"query":"Ulm"}',
              providerExecuted: true,
              dynamic: true,
            },
          },
          {
            type: "raw-part",
            part: {
              type: "tool-result",
              toolCallId: "p1",
              toolName: "search",
              result: { hits: 2 },
              dynamic: true,
            },
          },
          {
            type: "raw-part",
            part: {
              type: "reasoning-file",
              mediaType: "image/png",
              data: { type: "data", data: "iVBORw0KGgo=" },
            },
          },
          {
            type: "raw-part",
            part: {
              type: "custom",
              kind: "turnlog.compaction",
              providerMetadata: { turnlog: { blob: "b1" } },
            },
          },
          { type: "text", deltas: ["Found it."] },
        ],
      },
    ]),
  };
}

export async function toolSession({ open }: Stage): Promise<Session> {
  const session = await open(toolAgent());
  const turn = await session.send("Plan a journey to Ulm.", { id: "m1" });
  await seen(session, "tool.approval-requested", ({ callId }) => callId === "2");
  const [first, second] = [await idOfCall(session, "1"), await idOfCall(session, "2")];
  await session.approve(first, { reason: "within the budget" });
  await session.deny(second, { reason: "one bed is enough" });
  await turn.result;
  const next = await session.send(
    [
      { type: "text", text: "And this place?" },
      {
        type: "file",
        data: new Uint8Array([137, 80, 78, 71]),
        mediaType: "image/png",
        filename: "p.png",
      },
    ],
    { id: "m2" },
  );
  await next.result;
  return session;
}
