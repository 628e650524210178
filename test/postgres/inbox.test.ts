/** The commands in the database while it answers what nobody expects. Needs no server. */

import { expect, it, vi } from "vitest";
import { TurnlogError } from "../../src/events/index.ts";
import { Statements } from "../../src/store/postgres/database/statements.ts";
import { Commands } from "../../src/store/postgres/nodes/inbox.ts";
import { eventually } from "../support/eventually.ts";

function asking(query: (text: string) => Promise<readonly unknown[]>): Commands {
  const quiet = { listen: () => {}, tell: () => {}, node: () => "n" };
  return new Commands({ sql: new Statements({ query }, "t"), intervalMs: 1, ...quiet });
}

it.each([
  ["another error", new TypeError("Odd."), { message: "Odd." }],
  ["rows of another form", undefined, { code: "LOG_DAMAGED" }],
])("whoever waits for an answer gets %s, and listeners hear of it once", async (_, odd, error) => {
  const query = vi.fn(async () => {
    if (odd !== undefined) throw odd;
    return [{ other: 1 }];
  });
  const commands = asking(query);
  const failed = vi.fn();
  commands.onDue(() => {}, failed);
  await expect(commands.answerOf("s", "c")).rejects.toMatchObject(error);
  const before = query.mock.calls.length;
  await eventually(() => expect(query.mock.calls.length).toBeGreaterThan(before + 4));
  expect(failed.mock.calls).toEqual([[expect.objectContaining(error)]]);
  await commands.end(new Error("the test is over"));
});

it("an outage fails nobody who waits: the answer may come after it", async () => {
  let asked = 0;
  const commands = asking(async () => {
    asked += 1;
    if (asked < 4) throw new TurnlogError("LOG_FAILED", "Away.");
    return [{ session: "s", id: "c", answer: '{"value":1}' }];
  });
  expect(await commands.answerOf("s", "c")).toEqual({ value: 1 });
  await commands.end(new Error("the test is over"));
});

it("an answer that is lost with its connection comes again", async () => {
  const stored = [{ session: "s", id: "c", answer: '{"value":1}' }];
  let asked = 0;
  const commands = asking(async (text) => {
    const rows = [...stored];
    if (text.trimStart().startsWith("DELETE")) stored.length = 0;
    asked += 1;
    if (asked === 1) throw new TurnlogError("LOG_FAILED", "Away.");
    return rows;
  });
  expect(await commands.answerOf("s", "c")).toEqual({ value: 1 });
  await commands.end(new Error("the test is over"));
  expect(stored).toEqual([]);
});
