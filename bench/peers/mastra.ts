/** Mastra: an agent with memory on a libSQL file. Its memory shows the last ten messages unless told otherwise. */

import { join } from "node:path";
import { Mastra } from "@mastra/core";
import { Agent } from "@mastra/core/agent";
import type { MastraModelConfig } from "@mastra/core/llm";
import { createTool } from "@mastra/core/tools";
import { LibSQLStore } from "@mastra/libsql";
import { Memory } from "@mastra/memory";
import { z } from "zod";
import type { OpenSession, Setting } from "../comparison/contender.ts";
import { scriptModel } from "../comparison/script-model.ts";

process.env["MASTRA_TELEMETRY_DISABLED"] = "1";

const MANY = 1_000_000;
const place = { thread: "bench", resource: "bench" };

export function open({ dir, script }: Setting): Promise<OpenSession> {
  const lookup = createTool({
    id: "lookup",
    description: "Looks up rows.",
    inputSchema: z.object({ step: z.number() }),
    execute: ({ step }) => Promise.resolve(script.result(step)),
  });
  const storage = new LibSQLStore({ id: "bench", url: `file:${join(dir, "mastra.db")}` });
  const memory = new Memory({ storage, options: { lastMessages: MANY } });
  const bench = new Agent({
    id: "bench",
    name: "bench",
    instructions: "You look rows up.",
    // Its types are those of an older version of the AI SDK's models.
    model: scriptModel(script) as MastraModelConfig,
    tools: { lookup },
    memory,
  });
  const agent = new Mastra({ agents: { bench }, storage, logger: false }).getAgent("bench");
  return Promise.resolve({
    async send(text) {
      const { fullStream } = await agent.stream(text, { maxSteps: MANY, memory: place });
      for await (const part of fullStream) {
        if (part.type === "text-delta") script.saw(part.payload.text);
        else if (part.type === "error") throw part.payload.error;
      }
    },
    async kept() {
      const { messages } = await memory.recall({
        threadId: place.thread,
        resourceId: place.resource,
        perPage: false,
      });
      return messages;
    },
    close: () => storage.close(),
  });
}
