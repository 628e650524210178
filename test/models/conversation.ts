/** Talks to the offline model through the AI SDK's own agent loop, with real tools over a real folder. */
import {
  isStepCount,
  ToolLoopAgent,
  type ModelMessage,
  type ToolLoopAgentSettings,
  type ToolSet,
} from "ai";
import { folderTools } from "../../src/cli/folder/folder-tools.ts";
import { offlineModel } from "../../src/models/offline-model.ts";

export interface Answer {
  readonly text: string;
  readonly reasoning: string;
  /** Names of the tools called, in order. */
  readonly called: readonly string[];
  readonly steps: number;
  readonly finishReason: string;
}

export interface Conversation {
  ask(words: string): Promise<Answer>;
}

type Settings = Omit<ToolLoopAgentSettings<never, ToolSet>, "model" | "tools">;

/** A conversation that keeps its messages from one question to the next. */
export function conversation(tools: ToolSet, settings: Partial<Settings> = {}): Conversation {
  const agent = new ToolLoopAgent<never, ToolSet>({
    model: offlineModel(),
    tools,
    stopWhen: isStepCount(10),
    ...settings,
  });
  const messages: ModelMessage[] = [];
  return {
    async ask(words) {
      messages.push({ role: "user", content: words });
      const result = await agent.stream({ messages });
      await result.consumeStream();
      const steps = await result.steps;
      messages.push(...(await result.responseMessages));
      return {
        text: await result.text,
        reasoning: steps.map((step) => step.reasoningText ?? "").join("\n"),
        called: steps.flatMap((step) => step.toolCalls.map((call) => call.toolName)),
        steps: steps.length,
        finishReason: await result.finishReason,
      };
    },
  };
}

/** Asks one question over a folder. */
export function askAbout(folder: string, words: string): Promise<Answer> {
  return conversation(folderTools(folder, { allowWrite: true })).ask(words);
}
