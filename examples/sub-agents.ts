/** An editor that lets two researchers work side by side, each in a session of its own, and what each of them cost. */

import { agentTool, createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";

// Prices of models that no catalogue has: US dollars for a million tokens.
const context = { limits: { scripted: { prices: { input: 3, output: 15 } } } };
const researcher = {
  instructions: "Find the facts for your task. End with a summary: nobody sees anything else.",
  model: scriptedModel(({ prompt }) =>
    JSON.stringify(prompt).includes("rivers")
      ? "The Danube is 2,850 km long."
      : "The Zugspitze is 2,962 m high.",
  ),
  context,
};

const call = (toolCallId: string, task: string) =>
  ({ type: "tool-call", toolName: "research", toolCallId, input: { task } }) as const;
const editor = {
  model: scriptedModel([
    { parts: [call("1", "Facts about rivers"), call("2", "Facts about mountains")] },
    "A long river and a high mountain.",
  ]),
  tools: { research: agentTool({ agent: researcher, description: "Finds facts on one topic." }) },
  toolCallConcurrency: 2,
  context,
};

await using runtime = await createRuntime({ memory: true, agent: editor });
const session = await runtime.session("article");
console.log((await (await session.send("Write about Bavaria.")).result).text);

const { cost, totalCost, subAgents } = await session.subAgents();
for (const { status, summary, cost: own } of subAgents)
  console.log(`${summary.title}: ${status}, $${own.dollars.toFixed(4)}`);
console.log(`The editor: $${cost.dollars.toFixed(4)}. All: $${totalCost.dollars.toFixed(4)}.`);
