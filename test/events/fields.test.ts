/** Which fields of stored events are checked: all that the catalogue names, but those whose content is not ours. */
import fc from "fast-check";
import { expect, it } from "vitest";
import type { z } from "zod";
import { eventSchemas } from "../../src/events/catalogue/catalogue.ts";
import { eventOf, knownTypes } from "./event-arbitraries.ts";

/** What programs, tools and providers give: any JSON. */
const free = [
  /^message\.queued\.about\.(data\[\]\.data|options)$/,
  /^part\.(raw\.rawValue|start-step\.warnings\[\]|text-end\.citations|tool-error\.error)$/,
  /^part\.tool-(call|error|result)\.(input|output)$/,
  /^step\.prepared\.(instructions|overrides\.toolChoice)$/,
  /^tool\.(approval-requested\.state|(progressed|succeeded)\.output)$/,
  /\.(usage\.raw|parts\.toolChoice|modelOutput\.value)$/,
  /^turn\.ended\.output\.value$/,
];

/** What they give as an object: in it is any JSON. */
const objects = [
  /^part\.source$|^tool\.approval-answered\.content$|\.message\.content\[\]$/,
  /\.(metadata|providerMetadata|providerOptions|settings|context|toolMetadata|schema|inputSchema)$/,
];

/** One of each kind of JSON: no field that is checked takes them all. */
const kinds: readonly unknown[] = [null, "no such word", -0.5, true, [], [-0.5], {}];

function isOne(places: readonly RegExp[], place: string): boolean {
  return places.some((one) => one.test(place));
}

/** The fields in a value, each with a way to put another value there. */
function* fieldsOf(
  value: unknown,
  place: string,
): Generator<readonly [place: string, changed: (by: unknown) => unknown]> {
  if (typeof value !== "object" || value === null || isOne(objects, place)) return;
  const isList = Array.isArray(value);
  for (const [key, inner] of Object.entries(value)) {
    // An error has fields of its own kind too.
    if (place.endsWith(".error") && key !== "name" && key !== "message") continue;
    const here = isList ? `${place}[]` : `${place}.${key}`;
    const put = (by: unknown): unknown =>
      isList ? value.with(Number(key), by) : { ...value, [key]: by };
    yield [here, put];
    if (isOne(free, here)) continue;
    for (const [deeper, changed] of fieldsOf(inner, here)) yield [deeper, (by) => put(changed(by))];
  }
}

it("every field that an event has is checked, but those that hold what others give", () => {
  const unchecked = new Set<string>();
  for (const type of knownTypes) {
    if (type === "app.noted") continue;
    const schema: z.ZodType = eventSchemas[type];
    for (const { data } of fc.sample(eventOf(type), { numRuns: 30, seed: 1 }))
      for (const [place, changed] of fieldsOf(data, type))
        if (kinds.every((kind) => schema.safeParse(changed(kind)).success)) unchecked.add(place);
  }
  expect([...unchecked].filter((place) => !isOne(free, place))).toEqual([]);
});

it("every field that an event always has must be there", () => {
  const missed: string[] = [];
  for (const type of knownTypes) {
    if (type === "app.noted") continue;
    const schema: z.ZodType = eventSchemas[type];
    const samples = fc.sample(eventOf(type), { numRuns: 100, seed: 1 }).map(({ data }) => data);
    for (const field of Object.keys(samples[0] ?? {})) {
      if (samples.some((data) => !Object.hasOwn(data, field))) continue;
      const without = { ...samples[0], [field]: undefined };
      if (schema.safeParse(without).success) missed.push(`${type}.${field}`);
    }
  }
  expect(missed).toEqual([]);
});
