/** The items of pages, one by one. */

import { expect, it } from "vitest";
import { OneByOne } from "../../../src/shared/index.ts";

function pagesOf(...pages: readonly (readonly string[])[]): {
  readonly items: OneByOne<string>;
  readonly seen: string[];
} {
  const seen: string[] = [];
  async function* turned(): AsyncGenerator<readonly string[]> {
    try {
      for (const page of pages) {
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
