/** One event that does not fit its type hides no other; any other failure ends the reading. */
import { expect, it } from "vitest";
import { TurnlogError, type GlobalEvent, type SessionEvent } from "../../src/events/index.ts";
import { allReadableEvents, readableEvents } from "../../src/events/checks/readable-events.ts";

function event(position: number): SessionEvent {
  return { position, time: 1, type: "session.seen", data: { by: "ann", turn: 1 } };
}

function invalid(position: number, details: Readonly<Record<string, unknown>> = {}): TurnlogError {
  return new TurnlogError("EVENT_INVALID", "No.", { session: "s", position, details });
}

/** A session of six events, of which some cannot be read. */
function reading(failures: ReadonlyMap<number, Error>) {
  const ranges: unknown[] = [];
  return {
    ranges,
    async *read(_: string, range: { readonly from?: number; readonly to?: number } = {}) {
      ranges.push(range);
      for (let position = range.from ?? 1; position <= Math.min(range.to ?? 6, 6); position++) {
        const failure = failures.get(position);
        if (failure !== undefined) throw failure;
        yield event(position);
      }
    },
  };
}

async function read(
  failures: readonly (readonly [number, Error])[],
  range: { readonly from?: number; readonly to?: number } = {},
): Promise<{ readonly read: readonly number[]; readonly skipped: readonly unknown[] }> {
  const skipped: unknown[] = [];
  const found: number[] = [];
  const log = reading(new Map(failures));
  for await (const { position } of readableEvents(log, "s", range, (error) =>
    skipped.push(error.position),
  ))
    found.push(position);
  for (const asked of log.ranges) expect(asked).not.toHaveProperty("to", undefined);
  return { read: found, skipped };
}

it("all events of a session are read but those that do not fit", async () => {
  const failures = [2, 3, 6].map((position) => [position, invalid(position)] as const);
  expect(await read(failures)).toEqual({ read: [1, 4, 5], skipped: [2, 3, 6] });
  expect(await read(failures, { from: 2, to: 3 })).toEqual({ read: [], skipped: [2, 3] });
  expect(await read(failures, { from: 3, to: 4 })).toEqual({ read: [4], skipped: [3] });
  expect(await read([])).toEqual({ read: [1, 2, 3, 4, 5, 6], skipped: [] });
});

it("a range ends where it ends, also behind an event that does not fit", async () => {
  expect(await read([[3, invalid(3)]], { to: 3 })).toEqual({ read: [1, 2], skipped: [3] });
});

it("another failure, and one of another place, ends the reading", async () => {
  const damaged = new TurnlogError("LOG_DAMAGED", "No.", { session: "s", position: 2 });
  await expect(read([[2, damaged]])).rejects.toBe(damaged);
  const elsewhere = invalid(5);
  await expect(read([[2, elsewhere]])).rejects.toBe(elsewhere);
});

async function readAll(
  failures: readonly (readonly [number, Error])[],
  from: number,
): Promise<{ readonly read: readonly number[]; readonly skipped: readonly unknown[] }> {
  const skipped: unknown[] = [];
  const found: number[] = [];
  const known = new Map(failures);
  const log = {
    async *readAll({ from: first = 1 }: { readonly from?: number } = {}) {
      for (let position = first; position <= 6; position++) {
        const failure = known.get(position);
        if (failure !== undefined) throw failure;
        yield { position, session: "s", event: event(1) } satisfies GlobalEvent;
      }
    },
  };
  for await (const { position } of allReadableEvents(log, from, (error) =>
    skipped.push(error.details["globalPosition"]),
  ))
    found.push(position);
  return { read: found, skipped };
}

it("all events of a store are read but those that do not fit", async () => {
  const failures = [2, 3, 6].map(
    (position) => [position, invalid(1, { globalPosition: position })] as const,
  );
  expect(await readAll(failures, 1)).toEqual({ read: [1, 4, 5], skipped: [2, 3, 6] });
  expect(await readAll(failures, 3)).toEqual({ read: [4, 5], skipped: [3, 6] });
});

it("a failure that says no place in the store, or one that was read, ends the reading", async () => {
  for (const failure of [invalid(1), invalid(1, { globalPosition: 2 }), new Error("No.")])
    await expect(readAll([[4, failure]], 1)).rejects.toBe(failure);
});
