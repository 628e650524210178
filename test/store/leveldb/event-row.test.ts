/** Deltas that are appended together share a row, and reading them does not show it. */
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { checksum, createCodec, TurnlogError, type NewEvent } from "../../../src/events/index.ts";
import { LONGEST_RUN } from "../../../src/store/event-rows/delta-run.ts";
import {
  decodeRow,
  envelopesIn,
  eventRows,
  eventsIn,
  isMergedRow,
  mergedRow,
  queuedEvents,
} from "../../../src/store/event-rows/event-row.ts";
import { numbered, numberedUpTo, stored, take } from "../../../src/testing/index.ts";
import { eventOf } from "../../events/event-arbitraries.ts";
import { openFaultyLog, openOver } from "./faulty-database.ts";
import { runs } from "../../support/runs.ts";

const codec = createCodec();
const deltaTypes = ["part.text-delta", "part.reasoning-delta", "part.tool-input-delta"] as const;

/** Mostly deltas of two blocks, with every kind of event that ends a run. */
const events: fc.Arbitrary<readonly NewEvent[]> = fc.array(
  fc.oneof(
    {
      weight: 20,
      arbitrary: fc
        .record({
          type: fc.constantFrom(...deltaTypes),
          time: fc.oneof(fc.integer(), fc.double({ noNaN: true, noDefaultInfinity: true })),
          id: fc.constantFrom("0", "1"),
          text: fc.string({ unit: "grapheme" }),
        })
        .map(({ type, time: at, id, text }): NewEvent =>
          type === "part.tool-input-delta"
            ? { type, time: at || 0, data: { id, delta: text } }
            : { type, time: at || 0, data: { id, text } },
        ),
    },
    ...[...deltaTypes, "part.text-end" as const].map((type) => eventOf(type)),
  ),
  { maxLength: 60, size: "max" },
);

describe("the rows of an append", () => {
  it("hold all of its events in order, and give each back as it was", () => {
    fc.assert(
      fc.property(events, fc.nat({ max: 1000 }), (appended, revision) => {
        const rows = [...eventRows(codec, "s", revision, appended)];
        const expected = stored(appended, revision + 1);
        expect(
          rows.flatMap(({ row, position }) => decodeRow(codec, row, { session: "s", position })),
        ).toEqual(expected);
        expect(rows.flatMap((row) => queuedEvents(codec, "s", row))).toEqual(expected);
        expect(rows.map(({ row }) => eventsIn(row))).toEqual(rows.map((row) => row.events.length));
      }),
    );
  });

  it("are as few as their bound allows, however many deltas come at once", () => {
    const rows = [...eventRows(codec, "s", 0, numberedUpTo(3 * LONGEST_RUN + 1))];
    expect(rows.map(({ events: held }) => held.length)).toEqual([
      LONGEST_RUN,
      LONGEST_RUN,
      LONGEST_RUN,
      1,
    ]);
  });

  it("cost a delta few bytes more than its text", () => {
    const [row] = eventRows(codec, "s", 0, numberedUpTo(200));
    const content = numberedUpTo(200).reduce(
      (sum, { data }) =>
        sum + ("text" in data && typeof data.text === "string" ? data.text.length : 0),
      0,
    );
    expect(row?.row.length).toBeLessThan(content + 3 * 200);
  });

  it("are read as earlier releases wrote them: a text each, columns whole or short, merged or not", () => {
    const all = [
      { type: "part.text-delta", time: 5, data: { id: "b", text: "one" }, position: 7 },
      { type: "part.text-delta", time: 5, data: { id: "b", text: "" }, position: 8 },
      { type: "part.text-delta", time: 2, data: { id: "b", text: "\ud83d" }, position: 9 },
      { type: "part.text-delta", time: 2, data: { id: "b", text: "" }, position: 10 },
    ];
    const runs = [
      '[4,"part.text-delta",1,5,"b",["one","","\\ud83d",""],[0,0,-3,0]]',
      '[4,"part.text-delta",1,5,"b",["one","","\\ud83d"],[0,0,-3]]',
      '[4,"part.text-delta",1,5,"b",["one","","\\ud83d"],[0,0,-3],1]',
    ];
    for (const json of runs) {
      const key = { session: "s", position: 10 };
      const row = checksum(json, key) + json;
      expect(decodeRow(codec, row, key)).toEqual(all);
      expect(envelopesIn(row, key)).toEqual([{ time: 5 }, { time: 5 }, { time: 2 }, { time: 2 }]);
      expect(eventsIn(row)).toBe(4);
      expect(isMergedRow(row)).toBe(json.endsWith(",1]"));
    }
  });

  it("hold deltas alone that are none, and spoil no other", () => {
    const untyped = (data: unknown): NewEvent => {
      return { type: "part.text-delta", time: 1, data } as NewEvent;
    };
    const odd = [
      { id: "0", text: 5 },
      { id: "0", said: "x" },
      { id: "0", text: ["a"] },
      { id: 0, text: "x" },
    ];
    for (const data of odd) {
      const rows = [
        ...eventRows(codec, "s", 0, [
          numbered(1),
          numbered(2),
          untyped(data),
          numbered(3),
          numbered(4),
        ]),
      ];
      expect(rows.map(({ events: held }) => held.length)).toEqual([2, 1, 2]);
      const [first, , last] = rows;
      expect(decodeRow(codec, first?.row ?? "", { session: "s", position: 2 })).toHaveLength(2);
      expect(decodeRow(codec, last?.row ?? "", { session: "s", position: 5 })).toHaveLength(2);
    }
  });

  it("say whether they were merged, whatever they hold", () => {
    for (const text of ["", '",1]', "],1]", "1"]) {
      const deltas = [1, 2].map((at): NewEvent => ({
        type: "part.text-delta",
        time: at,
        data: { id: "0", text },
      }));
      const rows = [...eventRows(codec, "s", 0, deltas)];
      expect(rows.map(({ row }) => isMergedRow(row))).toEqual([false]);
      expect(isMergedRow(mergedRow("s", rows)?.row ?? "")).toBe(true);
    }
  });
});

describe("a run that is not what was written", () => {
  const [run] = eventRows(codec, "s", 0, numberedUpTo(3));
  const row = run?.row ?? "";
  const codeOf = (altered: string, position = 3): string | undefined => {
    try {
      decodeRow(codec, altered, { session: "s", position });
    } catch (error) {
      return TurnlogError.isInstance(error) ? error.code : String(error);
    }
    return undefined;
  };

  it("is found whichever bit was flipped, wherever it was cut, and in another place", () => {
    expect(codeOf(row)).toBeUndefined();
    const bytes = Buffer.from(row);
    for (let bit = 0; bit < bytes.length * 8; bit++) {
      const altered = Buffer.from(bytes);
      altered[bit >> 3] = (altered[bit >> 3] ?? 0) ^ (1 << (bit & 7));
      expect(codeOf(altered.toString("utf8")), `bit ${bit}`).toBe("LOG_DAMAGED");
    }
    for (let length = 0; length < row.length; length++) {
      expect(codeOf(row.slice(0, length))).toBe("LOG_DAMAGED");
    }
    expect(codeOf(row, 4)).toBe("LOG_DAMAGED");
  });

  it("is found when its columns are not those of its text, though its checksum is right", () => {
    const codeOfRun = (columns: string): string | undefined => {
      const json = `[3,"part.text-delta",1,5,"0",${columns}]`;
      return codeOf(checksum(json, { session: "s", position: 3 }) + json);
    };
    expect(codeOfRun('"abc","$$$","###"')).toBeUndefined();
    expect(codeOfRun('"abc","#&",""')).toBeUndefined();
    expect(codeOfRun('["a","b"],[]')).toBeUndefined();
    for (const columns of [
      '"abc","$$",""',
      '"abc","$$$$",""',
      '"abc","$$$#",""',
      '"abc","~-1~$&",""',
      '"abc","~3",""',
      '"abc","$$$","####"',
      '"abc","$$$"," "',
      '"abc","$$$",[0]',
      '"abc",[1,1,1],""',
      '["a","b","c","d"],[]',
      '["a","b","c"],[0,0.5]',
      '"abc","$$$","",2',
      '"abc","$$$"',
    ])
      expect(codeOfRun(columns), columns).toBe("LOG_DAMAGED");
  });
});

describe("a log in which deltas share rows", () => {
  it("reads any span of a session, and all sessions from any place, as if each had its own", async () => {
    const appends = [1, 5, LONGEST_RUN + 3, 2, 1, 40];
    const total = appends.reduce((sum, count) => sum + count, 0);
    const { log, rows } = await openFaultyLog();
    let revision = 0;
    for (const count of appends) {
      await log.append("s", revision, numberedUpTo(count, revision + 1));
      revision += count;
    }
    // Opened again, so that nothing is answered from memory.
    const { log: fresh } = await openOver(rows);
    const all = stored(numberedUpTo(total));
    const place = fc.integer({ min: 1, max: total });
    await fc.assert(
      fc.asyncProperty(place, place, fc.boolean(), async (one, other, backwards) => {
        const [from, to] = one < other ? [one, other] : [other, one];
        const span = all.slice(from - 1, to);
        const read = await Array.fromAsync(fresh.read("s", { from, to, backwards }));
        expect(read).toEqual(backwards ? span.toReversed() : span);
        const limited = await Array.fromAsync(fresh.read("s", { from, limit: 3, backwards }));
        expect(limited).toEqual(
          backwards
            ? all.slice(Math.max(from - 1, total - 3)).toReversed()
            : all.slice(from - 1, from + 2),
        );
        const global = await Array.fromAsync(fresh.readAll({ from }));
        expect(global.map(({ position, event }) => [position, event])).toEqual(
          all.slice(from - 1).map((event) => [event.position, event]),
        );
        const tail = fresh.subscribe("s", { from })[Symbol.asyncIterator]();
        expect(await take(tail)).toEqual(all[from - 1]);
        await tail.return?.();
      }),
      runs(60),
    );
    await log.close();
  });

  it("shows live events to subscribers that begin in the middle of a row", async () => {
    const { log } = await openFaultyLog();
    const first = log.subscribe("s")[Symbol.asyncIterator]();
    const later = log.subscribe("s", { from: 4 })[Symbol.asyncIterator]();
    await log.append("s", "none", numberedUpTo(6));
    expect(await take(first)).toEqual({ ...numbered(1), position: 1 });
    for (const number of [4, 5, 6]) {
      expect(await take(later)).toEqual({ ...numbered(number), position: number });
    }
    await first.return?.();
    await later.return?.();
    await log.close();
  });
});
