/**
 * One node of a cluster: `DATABASE_URL=… TOKEN=… node examples/cluster/node.ts`. Start as many as you like, on any
 * machines, behind a proxy: `compose.yaml` beside it is two nodes, PostgreSQL and a proxy.
 */

import { createRuntime, offlineModel } from "turnlog";
import { startNode } from "./start-node.ts";

const { DATABASE_URL, TOKEN, PORT, HOST, HOSTS } = process.env;
if (DATABASE_URL === undefined || TOKEN === undefined)
  throw new Error("Set DATABASE_URL and TOKEN.");

const server = await startNode({
  database: { connectionString: DATABASE_URL, leaseMs: 2000 },
  runtime: (log) => {
    const agent = { model: offlineModel(), instructions: "Be brief." };
    // A turn whose node died continues elsewhere.
    return createRuntime({ log, agent, recovery: "continue" });
  },
  server: {
    token: TOKEN,
    port: Number(PORT ?? 4400),
    host: HOST ?? "127.0.0.1",
    // The names by which clients call the proxy.
    hosts: HOSTS?.split(",") ?? ["localhost", "127.0.0.1"],
  },
});
console.log(server.url);
