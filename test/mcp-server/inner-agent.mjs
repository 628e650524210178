// An agent that pays after an approval: the server of another agent.
import { appendFileSync } from "node:fs";
import { tool } from "ai";
import { z } from "zod";
import { scriptedModel } from "../../src/public/testing.ts";

const call = { type: "tool-call", toolCallId: "a", toolName: "pay", input: { euros: 9 } };

export const agent = {
  id: "cashier",
  model: scriptedModel(({ prompt }) =>
    prompt.some(({ role }) => role === "tool") ? "Paid 9 euros." : { parts: [call] },
  ),
  tools: {
    pay: tool({
      inputSchema: z.object({ euros: z.number() }),
      execute: ({ euros }) => {
        appendFileSync(`${process.env["PAYMENTS"] ?? "."}/payments`, `${euros};`);
        return "paid";
      },
    }),
  },
  toolApproval: { pay: "user-approval" },
};
