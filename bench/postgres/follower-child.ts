/** A node that follows all sessions, and says when each event arrived: `<connection string> <schema> <listen>`. */

import { openPostgresLog } from "../../src/public/postgres.ts";

const [, , connectionString = "", schema = "", listen = ""] = process.argv;
const log = await openPostgresLog({ connectionString, schema, listen: listen === "true" });
process.stdout.write("ready\n");
for await (const { session, event } of log.subscribeAll())
  process.stdout.write(
    `${session} ${event.position} ${performance.timeOrigin + performance.now()}\n`,
  );
