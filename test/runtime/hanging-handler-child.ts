/** A program that closes its runtime while the handler of a consumer never returns. */

import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

const agent = { model: scriptedModel(() => "Fine.") };
const runtime = await createRuntime({ memory: true, agent, graceMs: 50 });
await runtime.session("s");
const begun = Promise.withResolvers<void>();
await runtime.consume("c", async () => {
  begun.resolve();
  await new Promise(() => {});
});
await begun.promise;
await runtime.close();
process.stdout.write("closed\n");
