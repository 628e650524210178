/**
 * One node of `cluster.test.ts`: a runtime on the database, which takes commands as lines of JSON and answers
 * them: `node-child.ts <connection string> <schema> <effects file>`. Its tool acts outside: a line in a file.
 */

import { appendFileSync } from "node:fs";
import { createInterface } from "node:readline";
import { setTimeout } from "node:timers/promises";
import { tool } from "ai";
import { z } from "zod";
import { callIdentity, createRuntime } from "../../src/public/index.ts";
import { openPostgresLog } from "../../src/public/postgres.ts";
import { scriptedModel } from "../../src/models/index.ts";

const [connectionString, schema, effects] = z
  .tuple([z.string(), z.string(), z.string()])
  .parse(process.argv.slice(2));
const requestSchema = z.object({ session: z.string(), id: z.string() });

const act = tool({
  inputSchema: z.object({}),
  execute: async (_, options) => {
    appendFileSync(effects, `${callIdentity(options).effectId}\n`);
    await setTimeout(5);
    return "done";
  },
});
const model = scriptedModel(async ({ prompt }) => {
  await setTimeout(5);
  const last = prompt.at(-1);
  if (last?.role === "user")
    return { parts: [{ type: "tool-call", toolName: "act", toolCallId: "c", input: {} }] };
  const deltas = Array.from({ length: 10 }, (_, index) => `word ${index} `);
  return { parts: [{ type: "text", deltas }] };
});
const log = await openPostgresLog({ connectionString, schema, pollingMs: 50, leaseMs: 2000 });
const runtime = await createRuntime({
  log,
  agent: { model, tools: { act } },
  recovery: "continue",
  maxRecoveries: 1000,
  idleAfterMs: 300,
  graceMs: 50,
  onWarning: ({ code, message }) => {
    console.log(JSON.stringify({ warning: `${code} ${message}` }));
  },
});
process.on("SIGTERM", () => {
  void runtime
    .close()
    .then(() => log.close())
    .then(() => process.exit(0));
});

async function take({ session: name, id }: z.infer<typeof requestSchema>): Promise<void> {
  try {
    const session = await runtime.session(name);
    const turn = await session.send(`Message ${id}`, { id });
    console.log(JSON.stringify({ id, accepted: true }));
    const { finishReason } = await turn.result;
    console.log(JSON.stringify({ id, ended: finishReason }));
  } catch (error) {
    const why = error instanceof Error ? error.message : "unknown";
    console.log(JSON.stringify({ id, failed: why }));
  }
}

console.log(JSON.stringify({ ready: true }));
for await (const line of createInterface({ input: process.stdin }))
  void take(requestSchema.parse(JSON.parse(line)));
