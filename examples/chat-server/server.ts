/**
 * A chat with `useChat`: a Hono server with durable sessions and a page. Kill it in the middle of a reply, start it
 * again, and the reply continues. Runs offline: `node examples/chat-server/server.ts`, then open the address.
 */

import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { serve } from "@hono/node-server";
import { Hono } from "hono";
import { build } from "rolldown";
import { createRuntime, offlineModel } from "turnlog";
import { createServer } from "turnlog/server";

const dir = process.env["TURNLOG_DIR"] ?? ".turnlog";
// The delay shows the streaming, and leaves time to kill it.
const agent = { model: offlineModel({ delay: 80 }), instructions: "Be brief." };
const runtime = await createRuntime({ dir, agent, recovery: "continue" });
// In a product: `authorize` asks your accounts, and `hosts` has the names in the addresses of your page.
const server = createServer(runtime, { token: false });

// In a product: Vite, or another bundler.
const { output } = await build({
  input: fileURLToPath(new URL("page/page.tsx", import.meta.url)),
  platform: "browser",
  write: false,
  logLevel: "silent",
  transform: { define: { "process.env.NODE_ENV": '"production"' } },
});

const app = new Hono();
app.all("/api/*", (context) => server.fetch(context.req.raw));
app.get("/page.js", (context) =>
  context.body(output[0].code, 200, { "content-type": "text/javascript" }),
);
app.get("/", (context) =>
  context.html(
    '<!doctype html><title>Chat</title><body><script type="module" src="page.js"></script>',
  ),
);

const listening = serve({
  fetch: app.fetch,
  hostname: "127.0.0.1",
  port: Number(process.env["PORT"] ?? 3000),
});
await once(listening, "listening");
const address = listening.address();
if (typeof address === "object" && address !== null)
  console.log(`http://127.0.0.1:${address.port}`);

process.once("SIGTERM", () => {
  server.close();
  listening.close();
  void runtime.close();
});
