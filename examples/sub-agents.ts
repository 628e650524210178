/**
 * An editor that lets two researchers work side by side, each in a session of its own. Runs offline:
 * `node examples/sub-agents.ts`.
 */

import { agentTool, createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const researcher = {
  instructions: "Find the facts for your task. End with a summary: nobody sees anything else.",
  model: scriptedModel(({ prompt }) => {
    const [task] = prompt.flatMap(({ role, content }) => (role === "user" ? content : []));
    return task?.type === "text" && task.text.includes("rivers")
      ? "The Danube is 2,850 km long."
      : "The Zugspitze is 2,962 m high.";
  }),
};

const call = (toolCallId: string, task: string) =>
  ({ type: "tool-call", toolName: "research", toolCallId, input: { task } }) as const;

const editor = {
  model: scriptedModel([
    { parts: [call("1", "Facts about rivers"), call("2", "Facts about mountains")] },
    "A long river and a high mountain.",
  ]),
  tools: {
    research: agentTool({ agent: researcher, description: "Finds facts about one topic." }),
  },
  toolCallConcurrency: 2,
};

await using runtime = await createRuntime({ memory: true, agent: editor });
const session = await runtime.session("article");
const turn = await session.send("Write about Bavaria.");
console.log((await turn.result).text);

const { own, total, subAgents } = await session.subAgents();
for (const { session: id, status, summary } of subAgents) console.log(id, status, summary.title);
console.log(`${own.outputTokens} tokens of its own, ${total.outputTokens} in all`);
