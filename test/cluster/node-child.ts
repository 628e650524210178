/**
 * One node of `cluster.test.ts`, as `examples/cluster` starts it: `node-child.ts <connection string> <schema>
 * <effects file> <milliseconds by which the clock is wrong>`. Its tool acts outside: a line in a file.
 */

import { appendFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { tool } from "ai";
import { z } from "zod";
import { startNode } from "../../examples/cluster/start-node.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { callIdentity, createRuntime, type Agent } from "../../src/public/index.ts";
import { promptProblems } from "../../src/testing/index.ts";
import { releaseAgents } from "./release.ts";

const [connectionString, schema, effects, wrong] = z
  .tuple([z.string(), z.string(), z.string(), z.coerce.number()])
  .parse(process.argv.slice(2));

const now = Date.now.bind(Date);
Date.now = () => now() + wrong;

const say = (what: object): void => console.log(JSON.stringify(what));

const act = tool({
  inputSchema: z.object({}),
  execute: async (_, options) => {
    appendFileSync(effects, `${callIdentity(options).effectId}\n`);
    await setTimeout(5);
    return "done";
  },
});
const model = scriptedModel(async ({ prompt }) => {
  // The parts of a provider's prompt that the rules are about have the same fields.
  const messages = prompt.filter(({ role }) => role !== "system");
  for (const { what } of promptProblems(messages)) say({ problem: what });
  await setTimeout(5);
  if (prompt.at(-1)?.role === "user")
    return { parts: [{ type: "tool-call", toolName: "act", toolCallId: "c", input: {} }] };
  const deltas = Array.from({ length: 10 }, (_, index) => `word ${index} `);
  return { parts: [{ type: "text", deltas }] };
});
const agent: Agent = { model, tools: { act } };
const server = await startNode({
  database: { connectionString, schema, pollingMs: 50, leaseMs: 2000 },
  runtime: (log) =>
    createRuntime({
      log,
      agents: Object.fromEntries(releaseAgents.map((name) => [name, agent])),
      recovery: "continue",
      maxRecoveries: 1000,
      idleAfterMs: 300,
      graceMs: 50,
      onWarning: ({ code, message }) => {
        say({ warning: `${code} ${message}` });
      },
    }),
  server: { port: 0, token: "secret" },
});
say({ port: server.port });
