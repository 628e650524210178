/** The states that the studio keeps for a short time equal those that are folded from the log. */

import { describe, expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { createRuntime, memoryKeys } from "../../src/public/index.ts";
import { NearStates } from "../../src/server/studio/near-states.ts";
import { TurnlogError, type EventBody } from "../../src/events/index.ts";
import { isUnerased, lineRevisions, outlineOf, stateAt } from "../../src/state/index.ts";

const deltas = Array.from({ length: 400 }, () => "word ");
const model = () => scriptedModel(() => ({ parts: [{ type: "text", deltas }] }));

describe("the states near a position", () => {
  it("are those of the log, in whatever order they are asked for, also from another snapshot", async () => {
    await using runtime = await createRuntime({ memory: true, agent: { model: model() } });
    const session = await runtime.session("s");
    for (let turn = 0; turn < 8; turn++) await (await session.send(`Turn ${turn}`)).result;
    const { log } = runtime;
    const last = await log.revision("s");
    const near = new NearStates();
    for (let index = 0; index < 40; index++) {
      const position = 1 + ((index * 7_919) % last);
      const state = await near.at(log, "s", position);
      const expected = await stateAt(log, "s", position);
      expect(outlineOf("s", state), `position ${position}`).toEqual(outlineOf("s", expected));
      expect(state.history, `position ${position}`).toEqual(expected.history);
    }
    await expect(near.at(log, "s", last + 1)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  });

  it("are folded again after content of the session or of its origin was redacted", async () => {
    await using runtime = await createRuntime({
      memory: true,
      agent: { model: model() },
      encryption: { keys: memoryKeys() },
    });
    const { log } = runtime;
    const session = await runtime.session("s");
    await (
      await session.send("The password is 1234.")
    ).result;
    const { id } = await session.fork({ position: await log.revision("s") });
    const near = new NearStates();
    const outline = async (of: string) => JSON.stringify(outlineOf(of, await near.at(log, of, 3)));
    expect(await near.at(log, "s", 3)).toBe(await near.at(log, "s", 3));
    for (const one of ["s", id]) expect(await outline(one)).toContain("word is 1234");
    await session.redact({ from: 2, to: 4 });
    for (const one of ["s", id]) expect(await outline(one)).not.toContain("word is 1234");
  });
});

describe("what is kept of a session that branches off another", () => {
  const thinned: EventBody = {
    type: "session.thinned",
    data: { drop: "reasoning", spans: [{ from: 1, to: 1 }] },
  };
  const redacted: EventBody = { type: "session.redacted", data: { ranges: [{ from: 1, to: 1 }] } };
  const harmless: EventBody = { type: "session.closed", data: {} };

  it.each<[string, { readonly [session: string]: readonly EventBody[] | Error | "gone" }, boolean]>(
    [
      ["holds while nothing was recorded", {}, true],
      ["holds after other events, also of its origin", { s: [harmless], o: [harmless] }, true],
      ["is made anew after a redaction", { s: [harmless, redacted] }, false],
      ["is made anew after a thinning", { s: [thinned, harmless] }, false],
      ["is made anew after a redaction of its origin", { o: [redacted] }, false],
      ["is made anew when its origin was deleted", { o: "gone" }, false],
      [
        "is made anew when its events cannot be read",
        { s: new TurnlogError("LOG_DAMAGED", "Damaged.") },
        false,
      ],
    ],
  )("%s", async (_, since, expected) => {
    const log = lineOf({});
    const revisions = await lineRevisions(log, "s");
    expect([...revisions]).toEqual([
      ["s", 5],
      ["o", 3],
    ]);
    const later = lineOf(since);
    expect(await isUnerased(later, revisions)).toBe(expected);
    if (!expected) return;
    // What was read is not read again.
    for (const session of ["s", "o"])
      expect(revisions.get(session)).toBe(await later.revision(session));
  });

  it("is not judged by an error that is none of the log's", async () => {
    const revisions = await lineRevisions(lineOf({}), "s");
    const broken = lineOf({ s: new TypeError("broken") });
    await expect(isUnerased(broken, revisions)).rejects.toThrow("broken");
  });

  /** A log of a session `s` with 5 events, a fork of `o` with 3, and what came since. */
  function lineOf(since: {
    readonly [session: string]: readonly EventBody[] | Error | "gone";
  }): Parameters<typeof isUnerased>[0] {
    const before: Readonly<Record<string, number>> = { s: 5, o: 3 };
    const added = (session: string): readonly EventBody[] => {
      const found = since[session] ?? [];
      return found === "gone" || found instanceof Error ? [] : found;
    };
    return {
      async *list({ prefix = "" } = {}) {
        await Promise.resolve();
        const entry = {
          session: prefix,
          revision: before[prefix] ?? 0,
          createdAt: 1,
          updatedAt: 1,
        };
        yield prefix === "s" ? { ...entry, forkedFrom: { session: "o", position: 2 } } : entry;
      },
      revision(session) {
        const found = since[session];
        if (found === "gone") return Promise.resolve(0);
        const more = found instanceof Error ? 1 : added(session).length;
        return Promise.resolve((before[session] ?? 0) + more);
      },
      async *read(session, { from = 1 } = {}) {
        await Promise.resolve();
        const found = since[session];
        if (found instanceof Error) throw found;
        const first = (before[session] ?? 0) + 1;
        for (const [index, body] of added(session).entries())
          if (first + index >= from) yield { position: first + index, time: 1, ...body };
      },
    };
  }
});
