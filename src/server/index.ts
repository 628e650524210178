/** The server: the sessions of a runtime over HTTP. */

export { createServer, type Server } from "./create-server.ts";
export { serveNode, type NodeServer, type ServeOptions } from "./serve-node.ts";
export type { ServerOptions } from "./server-options.ts";
export { serveElsewhere } from "./serve-elsewhere.ts";
