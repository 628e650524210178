/** What an error has and how it prints, and how errors are told apart. */

import { inspect } from "node:util";
import { expect, it } from "vitest";
import { TurnlogError } from "../../src/events/index.ts";
import { elsewhere, isElsewhere, oneProcess } from "../../src/events/ports/ownership.ts";
import { hasCode, rejected } from "../../src/events/values/errors.ts";

it("prints the session and the position that it has, and no others", () => {
  const plain = new TurnlogError("INVALID_INPUT", "No.");
  expect(plain.session).toBeUndefined();
  expect(inspect(plain)).not.toMatch(/session|position/);
  const placed = new TurnlogError("INVALID_INPUT", "No.", { session: "s", position: 3 });
  expect(inspect(placed)).toMatch(/session: 's',\s+position: 3/);
});

it("has its code, its details and its cause, and no cause that was not given", () => {
  const cause = new Error("Why.");
  const error = new TurnlogError("LOG_FULL", "No.", { details: { pid: 3 }, cause });
  expect(error).toMatchObject({ code: "LOG_FULL", message: "No.", details: { pid: 3 }, cause });
  const plain = new TurnlogError("LOG_FULL", "No.");
  expect(plain.details).toEqual({});
  expect("cause" in plain).toBe(false);
});

it("is known as one of turnlog's, and nothing else is", () => {
  expect(TurnlogError.isInstance(new TurnlogError("LOG_FULL", "No."))).toBe(true);
  for (const other of [new Error("No."), null, undefined, "LOG_FULL", { code: "LOG_FULL" }])
    expect(TurnlogError.isInstance(other)).toBe(false);
});

it("has one of some codes, also if it is no error of turnlog's", () => {
  const error = new TurnlogError("LOG_FULL", "No.");
  expect(hasCode(error, "LOG_FAILED", "LOG_FULL")).toBe(true);
  expect(hasCode(error, "LOG_FAILED")).toBe(false);
  expect(hasCode(Object.assign(new Error("No."), { code: "ENOENT" }), "ENOENT", "EIO")).toBe(true);
  for (const other of [new Error("No."), { code: "ENOENT" }, null])
    expect(hasCode(other, "ENOENT")).toBe(false);
});

it("rejects a promise as it is", async () => {
  const error = new TurnlogError("LOG_FULL", "No.");
  await expect(rejected(error)).rejects.toBe(error);
});

it("says of a session that another process runs, which one, and whether this one ran it until now", () => {
  const error = elsewhere("s");
  expect(error).toMatchObject({ code: "SESSION_ELSEWHERE", session: "s", details: {} });
  expect(error.details).toEqual({});
  expect(elsewhere("s", true).details).toEqual({ isBack: true });
  expect([isElsewhere(error), isElsewhere(error, "s"), isElsewhere(error, "t")]).toEqual([
    true,
    true,
    false,
  ]);
  const full = new TurnlogError("LOG_FULL", "No.", { session: "s" });
  expect([isElsewhere(full), isElsewhere(new Error("No.")), isElsewhere(undefined)]).toEqual([
    false,
    false,
    false,
  ]);
});

it("where one process owns the store, a session is its own and never lost", async () => {
  const claim = await oneProcess.claim("s");
  expect(claim?.lost.aborted).toBe(false);
  expect(() => claim?.assertHeld()).not.toThrow();
  await expect(claim?.release()).resolves.toBeUndefined();
});
