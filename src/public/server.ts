/**
 * The server: the sessions of a runtime over HTTP, for pages, other programs and load balancers. `serveNode`
 * needs the packages @hono/node-server and ws.
 *
 * @example
 * import { createRuntime } from "turnlog";
 * import { createServer } from "turnlog/server";
 *
 * const runtime = await createRuntime({ dir: ".turnlog", agent });
 * const server = createServer(runtime, { token: process.env.TURNLOG_TOKEN });
 * export const GET = server.fetch;
 * export const POST = server.fetch;
 */

export { createServer, serveNode, type NodeServer, type Server } from "../server/index.ts";
