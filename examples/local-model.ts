/**
 * A model on this machine, by Ollama: `ollama run llama3.2`, `npm install @ai-sdk/openai-compatible`, then
 * `node examples/local-model.ts`. `MODEL_URL` is the address of another server that speaks chat completions.
 */

import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createRuntime } from "turnlog";

const provider = createOpenAICompatible({
  name: "local",
  baseURL: process.env["MODEL_URL"] ?? "http://127.0.0.1:11434/v1",
  includeUsage: true, // else tokens are estimated
});
const model = provider("llama3.2");
const agent = {
  model,
  instructions: "Answer in one sentence.",
  // No catalogue knows the windows of local models: say it, so that long sessions are compacted in time.
  context: { limits: { [model.modelId]: { contextWindow: 8_192 } } },
};
await using runtime = await createRuntime({ memory: true, agent });
const session = await runtime.session("local");
const turn = await session.send("What is the capital of France?");
for await (const { type, data } of turn)
  if (type === "part.text-delta") process.stdout.write(data.text);
const { usage } = await turn.result;
console.log(`\n${usage.inputTokens} tokens in, ${usage.outputTokens} out (${usage.basis})`);
