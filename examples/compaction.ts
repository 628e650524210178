/** A compaction of your own: old turns become a list of what the user asked. It asks no model. */

import { createRuntime, threshold, type CompactionStrategy } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const questions: CompactionStrategy = {
  name: "questions-only",
  forgetsRequest: true, // else the runtime adds the words of the running request
  plan({ items }) {
    const old = items.slice(0, -2);
    const [from, to] = [old[0]?.position, old.at(-1)?.position];
    if (from === undefined || to === undefined) return undefined;
    const asked = old.flatMap((item) =>
      item.kind === "user" ? [JSON.stringify(item.content)] : [],
    );
    return { covers: { from, to }, summary: `The user asked before: ${asked.join(", ")}` };
  },
};

const model = scriptedModel(() => "A river is a stream of water. ".repeat(40));
const agent = {
  model,
  context: {
    limits: { [model.modelId]: { contextWindow: 4_000 } },
    compact: { when: threshold(0.2), how: questions },
  },
};
await using runtime = await createRuntime({ memory: true, agent });
const session = await runtime.session("rivers");

for (const river of ["Danube", "Rhine", "Elbe", "Weser"]) {
  const turn = await session.send(`What is the ${river}?`);
  await turn.result;
}
for await (const { type, data } of runtime.log.read("rivers")) {
  if (type !== "context.compacted") continue;
  console.log(`${data.strategy}: positions ${data.covers.from} to ${data.covers.to}`);
  console.log(`${data.beforeTokens} tokens before, ${data.afterTokens} after`);
}
const { prompt } = await session.view();
console.log(prompt.messages[0]?.content);
