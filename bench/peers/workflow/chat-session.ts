/**
 * A session as the Workflow SDK's guide to chat sessions has it: one run for all turns, which waits for the next
 * message. Its agent has no `instructions`: with them, a second turn of that guide's pattern is refused.
 */

import { WorkflowAgent, type ModelCallStreamPart } from "@ai-sdk/workflow";
import { tool, type LanguageModel, type ModelMessage } from "ai";
import { defineHook, getWritable } from "workflow";
import { z } from "zod";
import { held, ScriptedModel } from "./scripted-model.ts";

const nextMessage = defineHook({ schema: z.object({ message: z.string() }) });

async function lookup({ step }: { step: number }): Promise<string> {
  "use step";
  return held().script.result(step);
}

export async function chatSession(token: string, initialMessages: ModelMessage[]): Promise<never> {
  "use workflow";
  const hook = nextMessage.create({ token });
  const writable = getWritable<ModelCallStreamPart>();
  const agent = new WorkflowAgent({
    // Its types are those of an older version of the AI SDK's models.
    model: new ScriptedModel() as LanguageModel,
    tools: {
      lookup: tool({
        description: "Looks up rows.",
        inputSchema: z.object({ step: z.number() }),
        execute: lookup,
      }),
    },
  });
  let messages = initialMessages;
  for (;;) {
    const result = await agent.stream({ messages, writable, preventClose: true });
    const { message } = await hook;
    messages = [...result.messages, { role: "user", content: message }];
  }
}
