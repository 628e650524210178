/** A replay whose tools really run: it says what they do otherwise, and waits for them. */

import { setImmediate } from "node:timers/promises";
import { tool } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, openMemoryLog, type Agent } from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { call, calling } from "../support/script.ts";
import { storedEvents } from "../support/replay.ts";

const inputSchema = z.object({});

/** Two tools that run at once. */
function agentWith(first: () => Promise<string>): Agent {
  return {
    model: scriptedModel([calling(call("first", "1"), call("second", "2")), "Done."]),
    tools: {
      first: tool({ inputSchema, execute: first }),
      second: tool({ inputSchema, execute: async () => "second" }),
    },
  };
}

async function recorded() {
  await using log = await openMemoryLog();
  await using runtime = await createRuntime({ log, agent: agentWith(async () => "first") });
  const session = await runtime.session("s");
  await (
    await session.send("Go.")
  ).result;
  return await storedEvents(log, "s");
}

it("finds another output, and only if the tools run", async () => {
  const events = await recorded();
  const changed = async (): Promise<string> => "other";
  expect(await replay(events, agentWith(changed))).toMatchObject({ events: events.length });
  expect(await replay(events, agentWith(changed), { live: ["tools"] })).toMatchObject({
    difference: {
      recorded: { data: { output: "first" } },
      replayed: { data: { output: "other" } },
    },
  });
});

it("waits for a tool that ends after another one, which it did not in the recording", async () => {
  const events = await recorded();
  const slow = async (): Promise<string> => {
    for (let turn = 0; turn < 3000; turn++) await setImmediate();
    return "first";
  };
  const { difference } = await replay(events, agentWith(slow), { live: ["tools"] });
  expect(difference).toBeUndefined();
});
