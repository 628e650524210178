/** Projections of users: now, at a position, live and from snapshots, always the fold of the log or of the branch. */

import { setImmediate } from "node:timers/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  defineEvents,
  openMemoryLog,
  type EventLog,
} from "../../src/public/index.ts";
import { defineProjection, usage } from "../../src/public/projections.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { wrapLog } from "../../src/replay/index.ts";
import { ask } from "../support/asking.ts";

const tickets = defineEvents({
  "app.ticket-opened": z.object({ ticket: z.string() }),
  "app.ticket-closed": z.object({ ticket: z.string() }),
});

const openTickets = (follows: "branch" | "log", version = 1) =>
  defineProjection({
    name: "open-tickets",
    version,
    follows,
    schema: z.object({ open: z.array(z.string()), turns: z.number() }),
    initial: { open: [], turns: 0 },
    events: tickets,
    on: {
      "app.ticket-opened": (state, { data }) => ({ ...state, open: [...state.open, data.ticket] }),
      "app.ticket-closed": (state, { data }) => ({
        ...state,
        open: state.open.filter((ticket) => ticket !== data.ticket),
      }),
      "turn.ended": (state) => ({ ...state, turns: state.turns + 1 }),
    },
  });

const agent = { model: scriptedModel(() => "Fine.") };

describe("a projection of a user", () => {
  it("is folded up to now, at every position, and over events of turnlog and the program", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: tickets });
    const session = await runtime.session("s");
    const { position } = await session.append("app.ticket-opened", { ticket: "T-1" });
    await ask(session, "Hello.");
    await session.append("app.ticket-closed", { ticket: "T-1" });
    const projection = openTickets("branch");
    expect((await session.project(projection)).state).toEqual({ open: [], turns: 1 });
    expect(await session.project(projection, { position })).toEqual({
      position,
      state: { open: ["T-1"], turns: 0 },
    });
    await expect(session.project(projection, { position: 999 })).rejects.toMatchObject({
      code: "INVALID_INPUT",
    });
    expect((await session.project(usage)).state).toEqual((await session.view()).usage);
  });

  it("follows the branch or the log over rewinds and checkouts, within a boundary too", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: tickets });
    const session = await runtime.session("s");
    const open = async (ticket: string): Promise<number> =>
      (await session.append("app.ticket-opened", { ticket })).position;
    const [branch, log] = [openTickets("branch"), openTickets("log")];
    const opened = async (projection = branch, at = {}): Promise<readonly string[]> =>
      (await session.project(projection, at)).state.open;
    await open("a");
    await ask(session, "One.");
    const at = await open("b");
    const left = await open("c");
    const { branch: second } = await session.rewind({ to: at });
    expect([await opened(), await opened(log)]).toEqual([
      ["a", "b"],
      ["a", "b", "c"],
    ]);
    await open("d");
    await ask(session, "Two.");
    expect(await opened()).toEqual(["a", "b", "d"]);
    expect(await opened(branch, { position: left })).toEqual(["a", "b", "c"]);
    await session.checkout(1);
    expect(await opened()).toEqual(["a", "b", "c"]);
    await open("e");
    await session.checkout(second);
    expect(await opened()).toEqual(["a", "b", "d"]);
    expect(await opened(log)).toEqual(["a", "b", "c", "d", "e"]);
    const fork = await session.fork({ id: "f", position: left });
    expect((await fork.project(branch)).state.open).toEqual(["a", "b", "c"]);
  });

  it("is followed live: the state now, each change, and the other branch after a rewind", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: tickets });
    const session = await runtime.session("s");
    const { position: at } = await session.append("app.ticket-opened", { ticket: "a" });
    const ending = new AbortController();
    const seen: string[] = [];
    const following = (async () => {
      const states = session.follow(openTickets("branch"), { signal: ending.signal });
      for await (const { state } of states) {
        seen.push(state.open.join());
        if (state.open.includes("z")) ending.abort();
      }
    })();
    await setImmediate();
    await session.append("app.ticket-opened", { ticket: "b" });
    await session.rewind({ to: at });
    await session.append("app.ticket-opened", { ticket: "z" });
    await following;
    expect(seen).toEqual(["a", "a,b", "a", "a,z"]);
  });

  it("throws to its caller only, and names the position", async () => {
    await using runtime = await createRuntime({ memory: true, agent, events: tickets });
    const session = await runtime.session("s");
    const { position } = await session.append("app.ticket-opened", { ticket: "a" });
    const throwing = defineProjection<object, typeof tickets.schemas>({
      name: "throwing",
      version: 1,
      follows: "log",
      schema: z.object({}),
      initial: {},
      events: tickets,
      on: {
        "app.ticket-opened": () => {
          throw new Error("no");
        },
      },
    });
    await expect(session.project(throwing)).rejects.toMatchObject({
      code: "CALLBACK_FAILED",
      position,
    });
    await ask(session, "Still there?");
  });

  it("is refused with an unknown key, in the types too, and with a version that is no whole number", async () => {
    const fields = {
      name: "p",
      version: 1,
      follows: "log",
      schema: z.object({}),
      initial: {},
      on: {},
    } as const;
    // @ts-expect-error: a misspelt key
    const define = (): unknown => defineProjection({ ...fields, event: tickets });
    expect(define).toThrow("the projection p has the unknown key `event`. Known here: name,");
    await using runtime = await createRuntime({ memory: true, agent });
    const session = await runtime.session("s");
    const half = defineProjection({ ...fields, version: 1.5 });
    await expect(session.project(half)).rejects.toThrow(
      "`projection.version` must be a whole number",
    );
  });

  it("cannot be defined over events that there are not, in the types too", () => {
    const define = (): unknown =>
      defineProjection({
        name: "p",
        version: 1,
        follows: "log",
        schema: z.object({}),
        initial: {},
        events: tickets,
        // @ts-expect-error: a misspelt name
        on: { "app.ticket-open": (): object => ({}) },
      });
    expect(define).toThrow(expect.objectContaining({ code: "INVALID_INPUT" }));
  });
});

describe("snapshots of a user's projection", () => {
  /** How many events a projection reads, and the projections whose snapshots are stored. */
  function counted(log: EventLog): { readonly log: EventLog; readonly read: () => number } {
    let read = 0;
    const counting = wrapLog(log, {
      async *read(session, range) {
        for await (const event of log.read(session, range)) {
          read += 1;
          yield event;
        }
      },
    });
    return {
      log: counting,
      read: () => {
        const since = read;
        read = 0;
        return since;
      },
    };
  }

  it("save the reading of old events, fit no other version, and never show a left branch", async () => {
    await using log = await openMemoryLog();
    const counting = counted(log);
    await using runtime = await createRuntime({ log: counting.log, agent, events: tickets });
    const session = await runtime.session("s");
    await ask(session, "One.");
    const { position: at } = await session.append("app.ticket-opened", { ticket: "kept" });
    await Promise.all(
      Array.from({ length: 2000 }, (_, n) =>
        session.append("app.ticket-opened", { ticket: `t-${n}` }),
      ),
    );
    const projection = openTickets("branch");
    const first = await session.project(projection);
    counting.read();
    expect(await session.project(projection)).toEqual(first);
    expect(counting.read()).toBe(0);
    expect((await session.project(openTickets("branch", 2))).state).toEqual(first.state);
    expect(counting.read()).toBeGreaterThan(2000);
    await session.project(openTickets("branch"));
    await session.rewind({ to: at });
    expect((await session.project(projection)).state.open).toEqual(["kept"]);
    await session.checkout(1);
    expect((await session.project(projection)).state.open).toHaveLength(2001);
  });
});
