/** A table of open tickets over all sessions, in SQLite (Node 22.13). Run it again: it continues where it stopped. */

import { DatabaseSync } from "node:sqlite";
import { z } from "zod";
import { createRuntime, defineEvents } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const tickets = defineEvents({
  "app.opened": z.object({ ticket: z.string(), about: z.string() }),
  "app.closed": z.object({ ticket: z.string() }),
});
const agent = { model: scriptedModel(() => "I have noted it.") };
await using runtime = await createRuntime({ memory: true, agent, events: tickets });

const db = new DatabaseSync(":memory:"); // in a product: a file, as the log
db.exec("CREATE TABLE tickets (ticket TEXT PRIMARY KEY, session TEXT, about TEXT) STRICT");
const open = db.prepare("INSERT OR REPLACE INTO tickets VALUES (?, ?, ?)");
const close = db.prepare("DELETE FROM tickets WHERE ticket = ?");

for (const [customer, about] of Object.entries({ ann: "an invoice", bob: "a parcel" })) {
  const session = await runtime.session(customer);
  const turn = await session.send(`I have a question about ${about}.`);
  await turn.result;
  await session.append("app.opened", { ticket: `T-${customer}`, about });
}
const ann = await runtime.session("ann");
const last = await ann.append("app.closed", { ticket: "T-ann" });

// The runtime keeps the consumer's place. An event may come twice after a crash: the statements bear that.
const caughtUp = Promise.withResolvers<void>();
await using consumer = await runtime.consume("tickets", ({ session, event }) => {
  const own = tickets.parse(event);
  if (own?.type === "app.opened") open.run(own.data.ticket, session, own.data.about);
  if (own?.type === "app.closed") close.run(own.data.ticket);
  if (session === "ann" && event.position === last.position) caughtUp.resolve();
});
await caughtUp.promise;
for (const row of db.prepare("SELECT session, about FROM tickets").all())
  console.log(
    `${consumer.name}: ${String(row["session"])} has a question about ${String(row["about"])}`,
  );
