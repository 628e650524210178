/** A process that compares the sessions of a store, and prints the report. `kills.test.ts` kills it. */

import { tool } from "ai";
import { z } from "zod";
import { compare } from "../../src/compare/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { openLog, type Agent } from "../../src/public/index.ts";
import { call, calling } from "../support/script.ts";

const [dir = "", results = ""] = process.argv.slice(2);

const agent = (): Agent => ({
  model: scriptedModel([calling(call("lookup", "1", { order: 1 })), "It is paid for."]),
  tools: {
    lookup: tool({
      inputSchema: z.object({ order: z.number() }),
      execute: async (): Promise<string> => await Promise.reject(new Error("A tool ran.")),
    }),
  },
});

await using log = await openLog({ dir });
await using kept = await openLog({ dir: results });
const report = await compare(log, { agent, results: kept, experiment: "e", concurrency: 2 });
process.stdout.write(JSON.stringify(report));
