/**
 * The server that `npm run bench:studio` measures, in a process of its own, as a person has it:
 * `node bench/studio-child.ts <dir>` prints the studio's address. Each line of its input starts a turn
 * that streams 200 deltas a second.
 */

import { createInterface } from "node:readline";
import { createRuntime } from "../src/public/index.ts";
import { serveNode } from "../src/public/server.ts";
import { pacedModel } from "./server/paced-model.ts";

const [dir = ""] = process.argv.slice(2);
const runtime = await createRuntime({
  dir,
  durability: "os",
  agent: { model: pacedModel({ deltas: 6_000, everyMs: 5, size: 6 }) },
});
const server = await serveNode(runtime, { port: 0, studio: true });
process.stdout.write(`${server.studioUrl()}\n`);
const live = await runtime.session("live");
for await (const _ of createInterface({ input: process.stdin })) await live.send("Go.");
await live.cancel();
await server.close("the bench is over", 200);
await runtime.close();
