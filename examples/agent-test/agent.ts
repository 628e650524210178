/** The agent that is tested: it asks before it books. */

import { tool } from "ai";
import { z } from "zod";
import type { Agent } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const call = { type: "tool-call", toolCallId: "c1" } as const;

export const agent: Agent = {
  instructions: "You book trains. Look for one first.",
  // Scripted, so that the example records offline. In a test from a session no model is called, yours neither.
  model: scriptedModel([
    { parts: [{ ...call, toolName: "search", input: { from: "Ulm", to: "Bonn" } }] },
    { parts: [{ ...call, toolCallId: "c2", toolName: "book", input: { train: "ICE 512" } }] },
    "You are on ICE 512 at 9:51.",
  ]),
  tools: {
    search: tool({
      inputSchema: z.object({ from: z.string(), to: z.string() }),
      execute: () => [{ train: "ICE 512", at: "9:51" }],
    }),
    book: tool({
      inputSchema: z.object({ train: z.string() }),
      execute: ({ train }) => `${train} is booked.`,
    }),
  },
  toolApproval: { book: "user-approval" },
};
