/** A loop of `streamText` as a session: the messages are in the log, so there is no array to keep. */

import { isStepCount, tool } from "ai";
import { z } from "zod";
import { createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const call = { type: "tool-call", toolCallId: "1", toolName: "clock", input: {} } as const;
const model = scriptedModel([{ parts: [call] }, "It is noon.", "At noon, as I said."]);
const clock = tool({ inputSchema: z.object({}), execute: () => "12:00" });

// Before: streamText({ model, tools: { clock }, stopWhen: isStepCount(20), messages }), and
// messages.push(...(await result.responseMessages)) after each answer.
await using runtime = await createRuntime({
  memory: true, // in a product: dir: ".turnlog"
  agent: { model, tools: { clock }, stopWhen: isStepCount(20) },
});
const session = await runtime.session("ann-1");

for (const question of ["What time is it?", "When was that?"]) {
  const turn = await session.send(question);
  let said = "";
  for await (const { type, data } of turn) if (type === "part.text-delta") said += data.text;
  console.log(said);
}
const { prompt } = await session.view();
console.log(prompt.messages.map(({ role }) => role).join(", "));
