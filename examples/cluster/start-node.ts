/** Starts a node: any number of them on one database, behind any proxy. SIGTERM hands its sessions over. */

import type { EventLog, Runtime } from "turnlog";
import { openPostgresLog } from "turnlog/postgres";
import { serveNode, type NodeServer } from "turnlog/server";

export interface NodeOptions {
  readonly database: Parameters<typeof openPostgresLog>[0];
  readonly runtime: (log: EventLog) => Promise<Runtime>;
  readonly server: Parameters<typeof serveNode>[1];
}

export async function startNode(options: NodeOptions): Promise<NodeServer> {
  const log = await openPostgresLog(options.database);
  const runtime = await options.runtime(log);
  const server = await serveNode(runtime, options.server);
  process.once("SIGTERM", () => {
    void (async () => {
      await server.close();
      await runtime.close();
      await log.close();
      process.exit(0);
    })();
  });
  return server;
}
