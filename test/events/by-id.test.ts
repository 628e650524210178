/** Records by ids from outside: nothing is lost, and an id that every object has already is an id like any other. */
import { expect, it } from "vitest";
import {
  byId,
  entriesOf,
  entryOf,
  withEntry,
  withoutEntries,
  type ChunkedRecord,
} from "../../src/events/values/by-id.ts";

function recordOf(length: number): ChunkedRecord<number> {
  let made: ChunkedRecord<number> = [];
  for (let index = 0; index < length; index++) made = withEntry(made, `id ${index}`, index);
  return made;
}

it("every entry is found, in the order of adding, however many there are", () => {
  const made = recordOf(200);
  expect(entriesOf(made)).toEqual(Array.from({ length: 200 }, (_, at) => [`id ${at}`, at]));
  for (const [id, value] of entriesOf(made)) expect(entryOf(made, id)).toBe(value);
  expect(entryOf(made, "id 200")).toBeUndefined();
});

it("chunks of 64 entries are filled one after the other", () => {
  expect(recordOf(130).map((chunk) => Object.keys(chunk).length)).toEqual([64, 64, 2]);
});

it("a value is replaced at its place, and no other chunk is written anew", () => {
  const made = recordOf(130);
  const changed = withEntry(made, "id 3", -1);
  expect(entryOf(changed, "id 3")).toBe(-1);
  expect(entriesOf(changed)).toHaveLength(130);
  expect(changed[1]).toBe(made[1]);
  expect(changed[2]).toBe(made[2]);
  expect(entryOf(made, "id 3")).toBe(3);
});

it("entries that are taken out are gone, the others stay, and no chunk is empty", () => {
  const made = recordOf(66);
  expect(entriesOf(withoutEntries(made, ["id 0", "unknown"]))).toEqual(entriesOf(made).slice(1));
  expect(withoutEntries(made, ["id 64", "id 65"])).toEqual([made[0]]);
});

it("an id may be a name that every object has", () => {
  for (const id of ["__proto__", "constructor"]) {
    expect(entryOf([{}], id)).toBeUndefined();
    expect(byId({}, id)).toBeUndefined();
    const made = withEntry<string>([], id, "own");
    expect(entryOf(made, id)).toBe("own");
    expect(entryOf(withEntry(made, id, "other"), id)).toBe("other");
  }
});
