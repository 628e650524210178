/** The sessions of the application: one runtime for the process, opened by the first request. */

import { createRuntime, offlineModel } from "turnlog";
import { createServer, type Server } from "turnlog/server";

async function open(): Promise<Server> {
  const runtime = await createRuntime({
    dir: process.env["TURNLOG_DIR"] ?? ".turnlog",
    agent: { model: offlineModel(), instructions: "Be brief." },
    recovery: "continue",
  });
  // In a product: `authorize` asks your accounts, and `hosts` has the names in the addresses of your page.
  return createServer(runtime, { token: false });
}

declare global {
  var sessions: Promise<Server> | undefined;
}

/** `next dev` loads modules anew after a change, and `next build` loads them without a request. */
export async function answer(request: Request): Promise<Response> {
  globalThis.sessions ??= open();
  const server = await globalThis.sessions;
  return await server.fetch(request);
}
