/** The agent of the kill tests: the same in the process that dies and in the one that looks. */

import { createHash } from "node:crypto";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { improvisedModel } from "../support/improvised-model.ts";
import { workPolicies, workshop, workTools, type Work } from "../support/workshop.ts";
import type { Agent } from "../../src/public/index.ts";

export interface CrashAgentOptions {
  readonly works: string;
  readonly onWork?: (work: Work) => void;
  readonly onCall?: (prompt: LanguageModelV4Prompt) => void;
}

export function crashAgent({ works, onWork, onCall }: CrashAgentOptions): Agent {
  return {
    model: improvisedModel({
      tools: workTools,
      onCall: ({ prompt }) => {
        onCall?.(prompt);
      },
    }),
    instructions: "Improvise.",
    tools: workshop({ file: works, ...(onWork === undefined ? {} : { onWork }) }),
    toolPolicies: workPolicies,
    maxSteps: 12,
    toolCallConcurrency: 2,
  };
}

/** By which a prompt that was really sent is known. */
export function sentDigest(prompt: LanguageModelV4Prompt): string {
  return createHash("sha256").update(JSON.stringify(prompt)).digest("hex");
}
