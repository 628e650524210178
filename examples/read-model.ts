/**
 * A table of open tickets over all customers, filled from the logs of their sessions. Its database fails in the middle,
 * and it goes on where it stopped. Runs offline: `node examples/read-model.ts`.
 */

import { z } from "zod";
import { createRuntime, defineEvents } from "turnlog";
import type { GlobalEvent } from "turnlog/events";
import { scriptedModel } from "turnlog/testing";

const tickets = defineEvents({
  "app.ticket-opened": z.object({ ticket: z.string(), about: z.string() }),
  "app.ticket-closed": z.object({ ticket: z.string() }),
});

/** In a product this is a database: the rows and the position are written in one transaction. */
const table = { position: 0, open: new Map<string, string>() };

function update({ session, event, position }: GlobalEvent): void {
  // At least once: an event may come again after a crash.
  if (position <= table.position) return;
  const own = tickets.parse(event);
  if (own?.type === "app.ticket-opened")
    table.open.set(own.data.ticket, `${session}: ${own.data.about}`);
  if (own?.type === "app.ticket-closed") table.open.delete(own.data.ticket);
  table.position = position;
}

const agent = { model: scriptedModel(() => "I have noted it.") };
await using runtime = await createRuntime({ memory: true, agent, events: tickets });

for (const [customer, about] of [
  ["ann", "a wrong invoice"],
  ["bob", "a lost parcel"],
] as const) {
  const session = await runtime.session(customer);
  await (
    await session.send(`I have a question about ${about}.`)
  ).result;
  await session.append("app.ticket-opened", { ticket: `T-${customer}`, about });
}

const first = await runtime.consume("tickets", (entry) => {
  if (entry.session === "bob") throw new Error("the database is away");
  update(entry);
});
await first.done.catch((error: unknown) => console.log(String(error)));
console.log([...table.open.values()]);

const { position } = await (
  await runtime.session("ann")
).append("app.ticket-closed", { ticket: "T-ann" });
const caughtUp = Promise.withResolvers<void>();
await using second = await runtime.consume("tickets", (entry) => {
  update(entry);
  if (entry.session === "ann" && entry.event.position === position) caughtUp.resolve();
});
await caughtUp.promise;
console.log(second.name, [...table.open.values()]);
