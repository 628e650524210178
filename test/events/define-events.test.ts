/** Events of a program: their names, what is appended, and what a reader gets by the schema. */
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  checkedAppData,
  defineEvents,
  isRedacted,
} from "../../src/events/catalogue/define-events.ts";
import type { NewEvent, SessionEvent } from "../../src/events/index.ts";

const schema = z.object({ euros: z.number().default(1) });
const paid = defineEvents({ "app.paid": schema });

function event(type: `app.${string}`, data: SessionEvent<"app.paid">["data"]): SessionEvent {
  return { position: 3, time: 1, type, data };
}

/** As a program without types would. */
const defining = (schemas: object) => (): void => {
  Reflect.apply(defineEvents, undefined, [schemas]);
};

const refused = (details: object): unknown =>
  expect.objectContaining({ code: "INVALID_INPUT", details });

describe("a definition", () => {
  it("takes names of `app.` and its characters, and schemas of the standard form", () => {
    for (const name of ["app.a", "app.0", "app.a-b.c", `app.${"a".repeat(96)}`] as const)
      expect(defining({ [name]: schema })).not.toThrow();
    for (const name of ["app.", "app.-", "app.A", `app.${"a".repeat(97)}`, "app.a b"] as const)
      expect(defining({ [name]: schema })).toThrow(refused({ type: name }));
    for (const other of [{}, null, { "~standard": {} }])
      expect((): unknown =>
        Reflect.apply(defineEvents, undefined, [{ "app.paid": other }]),
      ).toThrow("its schema has no `~standard` interface");
  });
});

describe("an event that is read", () => {
  it("has its data as the schema gives it, and is else as it was", () => {
    expect(paid.parse(event("app.paid", {}))).toEqual({
      position: 3,
      time: 1,
      type: "app.paid",
      data: { euros: 1 },
    });
  });

  it("is none that was not defined, none of turnlog, and none that was redacted", () => {
    expect(paid.parse(event("app.other", {}))).toBeUndefined();
    const seen: SessionEvent = {
      position: 3,
      time: 1,
      type: "session.seen",
      data: { by: "ann", turn: 1 },
    };
    expect(paid.parse(seen)).toBeUndefined();
    expect(paid.parse(event("app.paid", { redacted: true }))).toBeUndefined();
  });

  it("is refused with its place where its data does not fit", () => {
    expect(() => paid.parse(event("app.paid", { euros: "1" }))).toThrow(
      expect.objectContaining({
        code: "EVENT_INVALID",
        position: 3,
        details: { type: "app.paid" },
      }),
    );
  });
});

describe("data that is appended", () => {
  const checked = (data: unknown): unknown => checkedAppData(paid, "app.paid", data);

  it("is stored as it is given, not as the schema makes it", () => {
    expect(checked({})).toEqual({});
    expect(checked({ euros: 2, more: ["a"] })).toEqual({ euros: 2, more: ["a"] });
  });

  it("is an object of plain JSON that fits the schema of a defined event", () => {
    for (const other of [null, [], "a", { at: new Date(0) }, { euros: "1" }])
      expect(() => checked(other)).toThrow(refused({ type: "app.paid" }));
    expect(() => checkedAppData(paid, "app.other", {})).toThrow("it is not defined");
  });

  it("is refused with the field that does not fit", () => {
    expect(() => checked({ euros: "1" })).toThrow("does not fit: `euros`: Invalid input");
    const orders = defineEvents({ "app.ordered": z.object({ items: z.array(z.string()) }) });
    expect(() => checkedAppData(orders, "app.ordered", { items: ["a", 1] })).toThrow("`items.1`:");
    const validate = () => ({ issues: [{ message: "Wrong", path: [{ key: "euros" }] }] });
    const other = defineEvents({ "app.a": { "~standard": { version: 1, validate } } });
    expect(() => checkedAppData(other, "app.a", {})).toThrow("`euros`: Wrong");
  });

  it("has none of turnlog's own fields", () => {
    for (const field of ["redacted", "turnlog.a"])
      expect(() => checked({ [field]: 1 })).toThrow(`\`${field}\` of its data is turnlog's own`);
    expect(() => checked({ turnlog: 1, "a.turnlog.": 1 })).not.toThrow();
  });

  it("takes one mebibyte of JSON, and no more", () => {
    const around = JSON.stringify({ text: "" }).length;
    const text = "a".repeat(1_048_576 - around);
    expect(() => checked({ text })).not.toThrow();
    expect(() => checked({ text: `${text}a` })).toThrow("larger than 1 MiB");
  });

  it("cannot wait for a schema", () => {
    const slow = defineEvents({ "app.slow": z.object({}).refine(async () => false) });
    expect(() => checkedAppData(slow, "app.slow", {})).toThrow("returns a promise");
  });
});

it("an event is redacted where a placeholder says so, also one that is not known", () => {
  const of = (type: "app.paid" | "unknown", data: unknown): NewEvent =>
    ({ type, time: 1, data }) as NewEvent;
  expect(isRedacted(of("app.paid", { redacted: true }))).toBe(true);
  expect(isRedacted(of("unknown", { type: "a", version: 1, data: { redacted: true } }))).toBe(true);
  for (const data of [null, "a", {}, { redacted: 1 }])
    expect(isRedacted(of("unknown", { type: "a", version: 1, data }))).toBe(false);
  expect(isRedacted(of("unknown", { redacted: true, data: {} }))).toBe(false);
});
