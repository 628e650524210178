/** The items of pages, one by one. */

import { expect, it } from "vitest";
import { OneByOne, pagesOf as asPages } from "../../../src/shared/index.ts";

/** A page that is an error fails. */
function pagesOf(...pages: readonly (readonly string[] | Error)[]): {
  readonly items: OneByOne<string>;
  readonly seen: string[];
} {
  const seen: string[] = [];
  async function* turned(): AsyncGenerator<readonly string[]> {
    try {
      for (const page of pages) {
        if (page instanceof Error) throw page;
        seen.push(page.join(""));
        yield await Promise.resolve(page);
      }
    } finally {
      seen.push("end");
    }
  }
  return { items: new OneByOne(turned()), seen };
}

it("come in their order, over empty pages too", async () => {
  expect(await Array.fromAsync(pagesOf(["a", "b"], [], ["c"], []).items)).toEqual(["a", "b", "c"]);
});

it("come in the order in which they were asked for, and once, when several are asked for at once", async () => {
  const { items } = pagesOf(["a", "b"], ["c"]);
  const asked = await Promise.all(Array.from({ length: 5 }, () => items.next()));
  expect(asked.map(({ value }) => value)).toEqual(["a", "b", "c", undefined, undefined]);
});

it("end the pages when a reader stops, which gets nothing more", async () => {
  const { items, seen } = pagesOf(["a", "b"], ["c"]);
  for await (const item of items) if (item === "a") break;
  expect(seen).toEqual(["ab", "end"]);
  expect(await items.next()).toEqual({ done: true, value: undefined });
});

it("end for a reader that stops while it waits, which gets what it asked for before", async () => {
  const { items, seen } = pagesOf(["a", "b"], ["c"]);
  const asked = items.next();
  await items.return();
  expect([await asked, await items.next(), seen]).toEqual([
    { done: false, value: "a" },
    { done: true, value: undefined },
    ["ab", "end"],
  ]);
});

it("fail once, behind the items before the fault, when several are asked for at once", async () => {
  const { items } = pagesOf(["a"], new Error("gone"));
  const asked = await Promise.allSettled(Array.from({ length: 4 }, () => items.next()));
  const end = { status: "fulfilled", value: { done: true, value: undefined } };
  expect(asked).toEqual([
    { status: "fulfilled", value: { done: false, value: "a" } },
    { status: "rejected", reason: new Error("gone") },
    end,
    end,
  ]);
  expect(await items.next()).toEqual(end.value);
});

it("end with the block that uses them, and with an error that is thrown in", async () => {
  const { items, seen } = pagesOf(["a", "b"]);
  {
    await using used = items;
    await used.next();
  }
  expect(seen).toEqual(["ab", "end"]);
  const other = pagesOf(["a", "b"]);
  await other.items.next();
  await expect(other.items.throw(new Error("stop"))).rejects.toThrow("stop");
  expect([await other.items.next(), other.seen]).toEqual([
    { done: true, value: undefined },
    ["ab", "end"],
  ]);
});

it("come by pages behind what was taken already, and end them when the reader stops", async () => {
  const { items, seen } = pagesOf(["a", "b", "c"], ["d"], ["e"]);
  await items.next();
  const left: string[] = [];
  for await (const page of asPages(items)) {
    left.push([...page].join(""));
    if (left.length === 2) break;
  }
  expect([left, seen]).toEqual([
    ["bc", "d"],
    ["abc", "d", "end"],
  ]);
});
