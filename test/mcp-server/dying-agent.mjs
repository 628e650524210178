// The agent of a process that is killed in the middle of a word: it notes each run of its tool, and prints, as modules do.
import { appendFileSync, existsSync } from "node:fs";
import { tool } from "ai";
import { z } from "zod";
import { scriptedModel } from "../../src/public/testing.ts";

console.log("An agent's module prints a line.");

const folder = process.env["DYING_AGENT"] ?? ".";
const call = { type: "tool-call", toolCallId: "a", toolName: "note", input: {} };
const forever = { type: "gate", until: new Promise(() => {}) };
const words = "word ".repeat(60);

export const agent = {
  id: "clerk",
  model: scriptedModel(({ prompt }) => {
    if (!prompt.some(({ role }) => role === "tool")) return { parts: [call] };
    const stops = existsSync(`${folder}/stops`) ? [forever] : [];
    return { parts: [{ type: "text", deltas: [words, ...stops, "end."] }] };
  }),
  tools: {
    note: tool({
      inputSchema: z.object({}),
      execute: () => {
        appendFileSync(`${folder}/notes`, "x");
        return "noted";
      },
    }),
  },
};
