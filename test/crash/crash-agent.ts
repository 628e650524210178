/**
 * The agent of the kill tests: the same in the process that dies and in the one that looks. It prepares its
 * steps, has a tool that a client runs and one that a sub-agent runs, and reads an output from its replies.
 */

import { createHash } from "node:crypto";
import type { LanguageModelV4Prompt } from "@ai-sdk/provider";
import { tool, type OutputInterface } from "ai";
import { z } from "zod";
import type { ScriptedModel } from "../../src/models/index.ts";
import { improvisedModel } from "../support/improvised-model.ts";
import { workPolicies, workshop, workTools, type Work } from "../support/workshop.ts";
import { agentTool, type Agent } from "../../src/public/index.ts";

export interface CrashAgentOptions {
  readonly works: string;
  readonly onWork?: (work: Work) => void;
  readonly onCall?: (prompt: LanguageModelV4Prompt) => void;
  readonly onParse?: () => void;
}

export function crashAgent({ works, onWork, onCall, onParse }: CrashAgentOptions): Agent {
  const model = (): ScriptedModel =>
    improvisedModel({
      tools: [...workTools, "ask", "delegate"],
      agents: ["delegate"],
      onCall: ({ prompt }) => {
        onCall?.(prompt);
      },
    });
  return {
    model: model(),
    // It takes over where the first is overloaded twice, and is overloaded as often itself.
    fallback: [{ ...model(), provider: "other" }],
    instructions: "Improvise.",
    tools: {
      ...workshop({ file: works, ...(onWork === undefined ? {} : { onWork }) }),
      ask,
      delegate: delegateTo(worksOfSubAgents(works)),
    },
    toolPolicies: workPolicies,
    maxSteps: 12,
    toolCallConcurrency: 2,
    prepareStep,
    output: wordCount(onParse),
  };
}

/** Where sub-agents note their work: the log of their session announces it. */
export function worksOfSubAgents(works: string): string {
  return `${works}.below`;
}

/** A sub-agent, with tools that nobody has to be asked about. */
function delegateTo(works: string): ReturnType<typeof agentTool> {
  const { note, settle } = workshop({ file: works });
  const agent: Agent = {
    model: improvisedModel({ tools: ["note", "settle"], rounds: 1 }),
    tools: { ...(note && { note }), ...(settle && { settle }) },
    toolPolicies: workPolicies,
    maxSteps: 4,
  };
  return agentTool({ agent, description: "Improvises further." });
}

/** A client runs it. */
const ask = tool({ inputSchema: z.object({ key: z.string() }), outputSchema: z.string() });

const HEADING = "Step ";

/** The newest heading takes the place of the one before; a step in three is sent as it is. */
const prepareStep: NonNullable<Agent["prepareStep"]> = ({ messages, stepNumber }) => {
  if (stepNumber % 3 === 2) return {};
  const others = messages.filter(
    ({ content }) => typeof content !== "string" || !content.startsWith(HEADING),
  );
  const heading = { role: "user", content: `${HEADING}${stepNumber}` } as const;
  const brief = stepNumber === 1 ? { instructions: "Improvise briefly." } : {};
  return { ...brief, messages: [heading, ...others] };
};

/** Known from the text alone, so that a test can tell what it must be. */
function wordCount(onParse: () => void = () => {}): OutputInterface<{ readonly words: number }> {
  return {
    name: "word-count",
    responseFormat: Promise.resolve(undefined),
    parseCompleteOutput: async ({ text }) => {
      onParse();
      return { words: wordsIn(text) };
    },
    parsePartialOutput: () => Promise.resolve(undefined),
    createElementStreamTransform: () => undefined,
  };
}

export function wordsIn(text: string): number {
  return text.split(" ").length;
}

/** By which a prompt that was really sent is known. */
export function sentDigest(prompt: LanguageModelV4Prompt): string {
  return createHash("sha256").update(JSON.stringify(prompt)).digest("hex");
}
