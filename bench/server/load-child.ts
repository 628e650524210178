/**
 * One kind of load in a process of its own: `runtime` (sessions, no HTTP), `server` (the same behind
 * `serveNode`) or `bare` (Hono's SSE over `streamText`, nothing kept). The parent says when to begin and when
 * all has arrived; the answer is what it took.
 */

import { once } from "node:events";
import { monitorEventLoopDelay } from "node:perf_hooks";
import { setTimeout as wait } from "node:timers/promises";
import { serve } from "@hono/node-server";
import { streamText } from "ai";
import { Hono } from "hono";
import { streamSSE } from "hono/streaming";
import { createRuntime, type Runtime } from "../../src/public/index.ts";
import { serveNode } from "../../src/public/server.ts";
import { mark } from "../meter.ts";
import { pacedModel } from "./paced-model.ts";

const [kind = "", dir = "", sessions = "", deltas = "", everyMs = "", size = "", overMs = ""] =
  process.argv.slice(2);
const model = pacedModel({
  deltas: Number(deltas),
  everyMs: Number(everyMs),
  size: Number(size),
});
const ids = Array.from({ length: Number(sessions) }, (_, index) => `s-${index}`);

function tell(message: object): void {
  process.send?.(message);
}

async function inRuntime(runtime: Runtime): Promise<void> {
  await Promise.all(
    ids.map(async (id, index) => {
      await wait((index * Number(overMs)) / ids.length);
      const turn = await (await runtime.session(id)).send("Go");
      for await (const _ of turn);
    }),
  );
}

async function bareServer(): Promise<number> {
  const app = new Hono();
  app.get("/:id", (context) =>
    streamSSE(context, async (stream) => {
      const { stream: parts } = streamText({ model, prompt: "Go" });
      for await (const part of parts) await stream.writeSSE({ data: JSON.stringify(part) });
    }),
  );
  const server = serve({ fetch: app.fetch, port: 0, hostname: "127.0.0.1" });
  await once(server, "listening");
  const address = server.address();
  return typeof address === "object" && address !== null ? address.port : 0;
}

const runtime =
  kind === "bare" ? undefined : await createRuntime({ dir, durability: "os", agent: { model } });
const limits = { openAnswers: 20_000, requestsPerMinute: 1_000_000 };
const server =
  kind === "server" && runtime !== undefined
    ? await serveNode(runtime, { port: 0, token: false, limits })
    : undefined;
for (const id of ids) if (server !== undefined) await runtime?.session(id);
tell({ port: kind === "bare" ? await bareServer() : (server?.port ?? 0) });

await once(process, "message");
const delay = monitorEventLoopDelay({ resolution: 1 });
delay.enable();
const start = mark();
const all = once(process, "message");
if (kind === "runtime" && runtime !== undefined) await inRuntime(runtime);
else tell({ begun: true });
if (kind === "runtime") tell({ done: true });
await all;
const end = mark();
globalThis.gc?.();
const { heapUsed, external } = process.memoryUsage();
tell({
  cpuMs: end.cpuMs - start.cpuMs,
  wallMs: end.wallMs - start.wallMs,
  heldMegabytes: (heapUsed + external) / 2 ** 20,
  peakMegabytes: process.resourceUsage().maxRSS / 1024,
  delayP99Ms: delay.percentile(99) / 1e6,
});
await server?.close();
await runtime?.close();
process.exit();
