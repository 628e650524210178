/** The script as an AI SDK model, for all that are built on the AI SDK's models. */

import type { LanguageModelV4, LanguageModelV4StreamPart } from "@ai-sdk/provider";
import type { Script } from "./script.ts";

export function scriptModel(script: Script): LanguageModelV4 {
  return {
    specificationVersion: "v4",
    provider: "bench",
    modelId: "deterministic",
    supportedUrls: {},
    doGenerate: () => Promise.reject(new Error("The script is streamed.")),
    doStream: ({ prompt }) => {
      const { step } = script.call(prompt);
      return Promise.resolve({ stream: streamOf(script, step) });
    },
  };
}

function streamOf(script: Script, step: number): ReadableStream<LanguageModelV4StreamPart> {
  const { pace } = script;
  const parts = script.workload.parts[step] ?? [];
  let [next, deltas] = [0, 0];
  const say = (controller: ReadableStreamDefaultController<LanguageModelV4StreamPart>): void => {
    const part = parts[next++];
    if (part === undefined) controller.close();
    else controller.enqueue(part);
  };
  if (pace === undefined) return new ReadableStream({ pull: say });
  return new ReadableStream({
    pull: async (controller) => {
      if (parts[next]?.type === "text-delta") await pace(step, deltas++);
      say(controller);
    },
  });
}
