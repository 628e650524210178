/** What a process knows of a session in the database, and what it asks of it. Needs no database. */

import { expect, it } from "vitest";
import { Statements } from "../../../src/store/postgres/database/statements.ts";
import { Heads } from "../../../src/store/postgres/heads/heads.ts";
import { addTo, shareOf } from "../../../src/store/postgres/write/batch.ts";
import type { QueuedAppend } from "../../../src/store/postgres/write/batch.ts";

function headsOf(query: () => Promise<readonly unknown[]>): Heads {
  return new Heads(new Statements({ query }, "s"), new Map());
}

it("a session whose entry could not be read is asked for again by the next caller", async () => {
  let isAway = true;
  const heads = headsOf(async () => {
    if (isAway) throw new Error("The connection is lost.");
    return [];
  });
  await expect(heads.of("a").loaded).rejects.toThrow("The connection is lost.");
  isAway = false;
  await heads.of("a").loaded;
  expect(heads.of("a").ready).toBe(true);
});

it("what is appended by a claim needs it, also beside an append that needs none", () => {
  const head = headsOf(async () => []).of("a");
  const appendOf = (epoch?: number): QueuedAppend => ({
    head,
    expected: "any",
    events: [],
    options: epoch === undefined ? {} : { epoch },
    base: 0,
    rows: [],
    answer: Promise.withResolvers(),
  });
  for (const epochs of [
    [5, undefined],
    [undefined, 5],
  ]) {
    const [first, second] = epochs.map(appendOf);
    if (first === undefined || second === undefined) throw new Error("two are needed");
    const share = shareOf(first);
    addTo(share, first);
    addTo(share, second);
    expect(share.epoch).toBe(5);
  }
});
