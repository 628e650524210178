/** Which rows share one, and what becomes of the row that is stored. */

import { expect, it } from "vitest";
import { createCodec, type NewEvent } from "../../../src/events/index.ts";
import { eventRows, OpenRow, type TakenRows } from "../../../src/store/event-rows/index.ts";

const delta = (id: string, text = "text"): NewEvent => ({
  type: "part.text-delta",
  time: 1,
  data: { id, text },
});
const end: NewEvent = { type: "part.text-end", time: 1, data: { id: "0" } };

function opened(): (...events: readonly NewEvent[]) => string {
  const open = new OpenRow("s");
  let revision = 0;
  return (...events) => {
    const rows = events.flatMap((event, index) => [
      ...eventRows(createCodec(), "s", revision + index, [event]),
    ]);
    revision += events.length;
    return described(open.take(rows));
  };
}

/** Last position and number of events of each row: `1/1 | 3/2, moves`. */
function described({ rows, open, stored }: TakenRows): string {
  const of = (row: { readonly position: number; readonly events: readonly unknown[] }): string =>
    `${row.position}/${row.events.length}`;
  return `${rows.map(of).join(" ")} | ${open === undefined ? "-" : of(open)}, ${stored}`;
}

it("grows from the second delta of a block on, and moves when the block is over", () => {
  const take = opened();
  expect(take(delta("0"))).toBe("1/1 | -, moves");
  expect(take(delta("0"))).toBe(" | 2/1, none");
  expect(take(delta("0"))).toBe(" | 3/2, is contained");
  expect(take(end)).toBe("4/1 | -, moves");
  expect(take(end)).toBe("5/1 | -, none");
});

it("is written with the others when it ends in the batch in which it grew", () => {
  const take = opened();
  expect(take(delta("0"), delta("0"))).toBe("1/1 | 2/1, moves");
  expect(take(delta("0"), end)).toBe("3/2 4/1 | -, is contained");
  expect(take(delta("1"), delta("1"), delta("2"), delta("2"))).toBe("5/1 6/1 7/1 | 8/1, none");
  expect(take(delta("2"), delta("3"), delta("3"))).toBe("9/2 10/1 | 11/1, is contained");
});

it("ends at 64 deltas or a thousand bytes", () => {
  const take = opened();
  take(delta("0"));
  for (let count = 1; count < 64; count++) take(delta("0"));
  expect(take(delta("0"))).toBe(" | 65/64, is contained");
  expect(take(delta("0"))).toBe(" | 66/1, moves");
  expect(take(delta("0", "x".repeat(1021)))).toBe(" | 67/1, moves");
  expect(take(delta("0", "x".repeat(2000)))).toBe("68/1 | -, moves");
});

it("knows nothing of the stored row at first, and after another process wrote", () => {
  const open = new OpenRow("s");
  const rows = (revision: number): Parameters<OpenRow["take"]>[0] => [
    ...eventRows(createCodec(), "s", revision, [delta("0")]),
  ];
  open.take(rows(0));
  expect(described(open.take(rows(1)))).toBe(" | 2/1, none");
  open.clear();
  expect(described(open.take(rows(2)))).toBe("3/1 | -, moves");
});
