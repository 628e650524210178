/**
 * A node whose model says words, one in ten milliseconds: `slow-node.ts <connection string> <schema> <listen>
 * <words>`.
 */

import { setTimeout } from "node:timers/promises";
import { z } from "zod";
import { startNode } from "../../examples/cluster/start-node.ts";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

const [connectionString, schema, listen, words] = z
  .tuple([z.string(), z.string(), z.string(), z.coerce.number()])
  .parse(process.argv.slice(2));

const WORD_MS = 10;

/** A gate that opens by itself. */
const pause = (): { readonly type: "gate"; readonly until: PromiseLike<void> } => ({
  type: "gate",
  until: {
    // oxlint-disable-next-line unicorn/no-thenable
    then: (...then) => setTimeout(WORD_MS).then(...then),
  },
});

const model = scriptedModel(() => ({
  parts: [
    {
      type: "text",
      deltas: Array.from({ length: words }, (_, index) => [pause(), `word ${index} `]).flat(),
    },
  ],
}));
const server = await startNode({
  database: { connectionString, schema, leaseMs: 2000, listen: listen === "true" },
  runtime: (log) => createRuntime({ log, agent: { model }, recovery: "continue" }),
  server: { port: 0, token: "secret" },
});
console.log(server.url);
