/**
 * Sessions in PostgreSQL, for several processes: `npm install pg`, then
 * `DATABASE_URL=postgres://user:password@host/name node examples/postgres.ts`.
 */

import { createRuntime } from "turnlog";
import { openPostgresLog } from "turnlog/postgres";
import { scriptedModel } from "turnlog/testing";

const connectionString = process.env["DATABASE_URL"];
if (connectionString === undefined) console.log("Set DATABASE_URL to the address of a database.");
else {
  const log = await openPostgresLog({ connectionString }); // creates its tables
  const agent = { model: scriptedModel(() => "It is stored in the database.") };

  // Two runtimes on one database, as two processes would be.
  const first = await createRuntime({ log, agent, recovery: "continue" });
  const second = await createRuntime({ log, agent, recovery: "continue" });
  const session = await first.session("shared");
  console.log((await (await session.send("Where are you?")).result).text);

  // Only one of them runs a session at a time; the command of the other one is forwarded.
  const same = await second.session("shared");
  console.log((await (await same.send("And now?")).result).text);
  console.log(`${(await same.view()).summary.turns} turns`);

  await first.close();
  await second.close();
  await log.close();
}
