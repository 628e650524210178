/** A model of sessions that branch: plain lists of events, which are copied at a fork. */
import fc from "fast-check";
import { expect } from "vitest";
import type { EventLog, NewEvent, SessionEvent } from "../../../src/events/index.ts";
import { forked, numbered, stored } from "../../../src/testing/index.ts";

/** One step on a store with forks. Numbers are taken modulo what exists. */
export type Action =
  | {
      readonly do: "append";
      readonly session: number;
      readonly count: number;
      readonly id: boolean;
    }
  | { readonly do: "fork"; readonly session: number; readonly at: number; readonly count: number }
  /** Its forks keep a copy of the shared events. */
  | { readonly do: "delete"; readonly session: number }
  | { readonly do: "reopen" };

export const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constant("append" as const),
      session: fc.nat(),
      count: fc.integer({ min: 1, max: 6 }),
      id: fc.boolean(),
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("fork" as const),
      session: fc.nat(),
      at: fc.nat(),
      count: fc.integer({ min: 0, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("delete" as const), session: fc.nat() }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("reopen" as const) }) },
);

/** A store, and what it should contain. */
export class Grove {
  readonly sessions: { readonly name: string; readonly events: SessionEvent[] }[] = [];
  /** Every event that was written and not deleted, in order. */
  order: string[] = [];
  readonly deleted: string[] = [];
  #number = 0;
  #names = 0;

  #new(count: number, id = false): NewEvent[] {
    return Array.from({ length: count }, () => {
      this.#number++;
      return numbered(this.#number, id ? `id-${this.#number}` : undefined);
    });
  }

  #write(name: string, events: SessionEvent[], added: readonly NewEvent[]): void {
    for (const event of stored(added, events.length + 1)) {
      events.push(event);
      this.order.push(`${name}:${event.position}`);
    }
  }

  async act(log: EventLog, next: Exclude<Action, { readonly do: "reopen" }>): Promise<void> {
    const found = this.sessions[next.session % Math.max(1, this.sessions.length)];
    const name = `s-${this.#names++}`;
    if (found === undefined) {
      const events: SessionEvent[] = [];
      this.sessions.push({ name, events });
      const added = this.#new(4);
      this.#write(name, events, added);
      await log.append(name, "none", added, { origin: "copied" });
    } else if (next.do === "append") {
      const added = this.#new(next.count, next.id);
      const { length } = found.events;
      this.#write(found.name, found.events, added);
      await log.append(found.name, length, added, { origin: "copied" });
    } else if (next.do === "delete") {
      this.sessions.splice(this.sessions.indexOf(found), 1);
      this.order = this.order.filter((place) => !place.startsWith(`${found.name}:`));
      this.deleted.push(found.name);
      await log.delete(found.name, { forks: "copy" });
    } else {
      const at = 1 + (next.at % found.events.length);
      const events = found.events.slice(0, at);
      const added = [forked(found.name, at), ...this.#new(next.count)] as const;
      this.sessions.push({ name, events });
      this.#write(name, events, added);
      await log.fork(name, added);
    }
  }
}

/** Expects a log to contain what the model does, read as a whole and in ranges. */
export async function expectGrove(
  grove: Grove,
  log: EventLog,
  ranges: readonly (readonly [number, number])[],
): Promise<void> {
  for (const { name, events } of grove.sessions) {
    expect(await Array.fromAsync(log.read(name))).toEqual(events);
    expect(await log.revision(name)).toBe(events.length);
    for (const [one, other] of ranges) {
      const [from, to] = [one, other]
        .map((at) => 1 + (at % events.length))
        .toSorted((a, b) => a - b);
      const span = events.slice((from ?? 1) - 1, to);
      const range = { from: from ?? 1, to: to ?? 1 };
      expect(await Array.fromAsync(log.read(name, range))).toEqual(span);
      const backwards = log.read(name, { ...range, backwards: true });
      expect(await Array.fromAsync(backwards)).toEqual(span.toReversed());
    }
    const repeated = events.findLast(({ id }) => id !== undefined);
    if (repeated !== undefined) {
      const { position, ...event } = repeated;
      const again = await log.append(name, "any", [event], { origin: "copied" });
      expect(again).toMatchObject({ repeated: true, revision: position });
    }
  }
  const all = await Array.fromAsync(log.readAll());
  expect(all.map(({ session, event }) => `${session}:${event.position}`)).toEqual(grove.order);
  const deleted = await Array.fromAsync(log.deleted());
  expect(deleted.map(({ session }) => session)).toEqual(grove.deleted.toSorted());
  const list = await Array.fromAsync(log.list());
  expect(list.map(({ session, revision }) => [session, revision])).toEqual(
    grove.sessions
      .map(({ name, events }) => [name, events.length] as const)
      .toSorted(([one], [other]) => (one < other ? -1 : 1)),
  );
}
