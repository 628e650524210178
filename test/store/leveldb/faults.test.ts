/** The log above a database that fails, delays, or contains other rows than were written. */
import { expect, it } from "vitest";
import {
  TurnlogError,
  type SessionEvent,
  type TurnlogErrorCode,
} from "../../../src/events/index.ts";
import {
  alone,
  appendInTurn,
  numbered,
  numberedUpTo,
  positionsOf,
  stored,
  take,
} from "../../../src/testing/index.ts";
import { openFaultyLog, openOver } from "./faulty-database.ts";
import { eventually } from "../../support/eventually.ts";

/** As classic-level throws it: the system's message ends the chain of causes. */
function levelError(text: string, code = "LEVEL_IO_ERROR"): Error {
  return Object.assign(new Error(`IO error: /store/log/000012.log: ${text}`), { code });
}

async function codeOf(action: Promise<unknown>): Promise<TurnlogErrorCode | undefined> {
  const error: unknown = await action.then(
    () => undefined,
    (failure: unknown) => failure,
  );
  return TurnlogError.isInstance(error) ? error.code : undefined;
}

const failures: readonly (readonly [string, TurnlogErrorCode])[] = [
  ["No space left on device", "LOG_FULL"],
  ["Disk quota exceeded", "LOG_FULL"],
  ["File too large", "LOG_FULL"],
  ["Read-only file system", "LOG_READ_ONLY"],
  ["Permission denied", "LOG_READ_ONLY"],
  ["Input/output error", "LOG_FAILED"],
];

it.each(failures)(
  "answers %j with %s, to that batch and to everything behind it",
  async (text, code) => {
    const gate = Promise.withResolvers<void>();
    let isHeld = false;
    const { log, database } = await openFaultyLog((operation) =>
      operation === "write" && isHeld ? gate.promise : Promise.resolve(),
    );
    await log.append("s", "none", numberedUpTo(3));
    isHeld = true;
    database.fail("write", levelError(text));
    const cause = log.append("s", 3, [numbered(4)]);
    // The first batch is being written: the next appends fill further batches.
    await eventually(() => expect(database.writing).toBe(1));
    const large = { ...alone(5), data: { id: "5", text: "x".repeat(1024 * 1024) } };
    const behind = [
      log.append("s", 4, [large]),
      log.append("s", 5, [numbered(6)]),
      log.append("t", "any", [numbered(1)]),
      log.append("u", "any", [numbered(1, "id")]),
      log.saveSnapshot("s", { projection: "p", version: 1, position: 4, state: null }),
    ];
    gate.resolve();
    const error: unknown = await cause.catch((failure: unknown) => failure);
    expect(error).toMatchObject({
      code,
      cause: { message: `IO error: /store/log/000012.log: ${text}` },
    });
    expect(String(error)).toContain("open it again");
    for (const promise of behind) expect(await codeOf(promise)).toBe(code);
    // Still refused: LevelDB's log file may be torn, and recovery loses what follows a tear.
    expect(await codeOf(log.append("s", "any", [numbered(9)]))).toBe(code);
    expect(
      await codeOf(
        log.saveSnapshot("s", { projection: "p", version: 1, position: 1, state: null }),
      ),
    ).toBe(code);

    expect(await Array.fromAsync(log.read("s"))).toEqual(stored(numberedUpTo(3)));
    expect(await log.revision("t")).toBe(0);
    expect(
      (await Array.fromAsync(log.list())).map(({ session, revision }) => [session, revision]),
    ).toEqual([["s", 3]]);
    expect(await Array.fromAsync(log.readAll())).toHaveLength(3);
    await log.close();
  },
);

it("shows subscribers nothing of a batch that failed", async () => {
  const { log, database } = await openFaultyLog();
  const events = log.subscribe("s")[Symbol.asyncIterator]();
  const first = take(events);
  await log.append("s", "none", [numbered(1)]);
  await first;
  database.fail("write", levelError("Input/output error"));
  const next = events.next();
  expect(await codeOf(log.append("s", 1, [numbered(2)]))).toBe("LOG_FAILED");
  await log.close();
  expect(await next).toEqual({ done: true, value: undefined });
});

it("continues after an append that could not read the revision of its session", async () => {
  const { log, database } = await openFaultyLog();
  await log.append("other", "none", [numbered(1)]);
  database.fail("scan", levelError("Input/output error"));
  const failed = log.append("s", "none", [numbered(1)]);
  const alsoFailed = log.append("s", "any", [numbered(2)]);
  expect(await codeOf(failed)).toBe("LOG_FAILED");
  expect(await codeOf(alsoFailed)).toBe("LOG_FAILED");
  expect(await log.append("s", "none", [numbered(3)])).toMatchObject({ revision: 1 });
  expect(await log.append("other", 1, [numbered(2)])).toMatchObject({ revision: 2 });
  await log.close();
});

it("continues after an append that could not look up an event id, and after reads that failed", async () => {
  const { log, database } = await openFaultyLog();
  await log.append("s", "none", numberedUpTo(10));
  database.fail("scan", levelError("Input/output error"));
  const failed = log.append("s", 10, [numbered(11, "id")]);
  const behind = log.append("s", 10, [numbered(11)]);
  expect(await codeOf(failed)).toBe("LOG_FAILED");
  expect(await behind).toMatchObject({ revision: 11 });

  database.fail("scan", levelError("Input/output error"));
  expect(await codeOf(positionsOf(log.read("s")))).toBe("LOG_FAILED");
  database.fail("scan", levelError("Input/output error"));
  expect(await codeOf(Array.fromAsync(log.readAll()))).toBe("LOG_FAILED");
  database.fail("scan", levelError("Input/output error"));
  expect(await codeOf(Array.fromAsync(log.list()))).toBe("LOG_FAILED");
  database.fail("get", levelError("Input/output error"));
  expect(await codeOf(log.loadSnapshot("s", "p"))).toBe("LOG_FAILED");
  database.fail("get", levelError("Input/output error"));
  expect(await codeOf(log.readAt("s", [3]))).toBe("LOG_FAILED");
  // Also with several look-ups under way, of which more than one fails.
  const often = Array.from({ length: 300 }, (_, index) => (index % 11) + 1);
  for (const after of [0, 0, 1]) database.fail("get", levelError("Input/output error"), after);
  expect(await codeOf(log.readAt("s", often))).toBe("LOG_FAILED");
  expect(await log.readAt("s", often)).toHaveLength(300);
  expect(await positionsOf(log.read("s"))).toHaveLength(11);
  expect(database.openScans).toBe(0);
  await log.close();
});

it("calls it damage when LevelDB says so, with the session and the position", async () => {
  const { log, database } = await openFaultyLog();
  // One append each: deltas of one append would share a row.
  await appendInTurn(log, ["s"], 2500, alone);
  database.fail("scan", levelError("block checksum mismatch", "LEVEL_CORRUPTION"), 1);
  const seen: SessionEvent[] = [];
  const reading = (async () => {
    for await (const event of log.read("s")) seen.push(event);
  })();
  const error: unknown = await reading.catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "LOG_DAMAGED", session: "s", position: seen.length + 1 });
  expect(seen.length).toBeGreaterThan(0);
  expect(seen).toEqual(stored(numberedUpTo(seen.length, 1, alone)));
  await log.close();
});

const damages: readonly (readonly [string, (key: string) => boolean, "drop" | "alter", RegExp])[] =
  [
    ["an event that is missing", (key) => key === "e/s/00000000b", "drop", /s:11.*missing/],
    ["an event that is altered", (key) => key === "e/s/00000000b", "alter", /s:11.*checksum/],
    [
      "the last event missing",
      (key) => key === "e/s/00000000k",
      "drop",
      /s:20.*end at 19.*says 20/,
    ],
    ["the index row missing", (key) => key === "s/s", "drop", /s:20.*index row/],
    ["the index row altered", (key) => key === "s/s", "alter", /s:20.*index row/],
  ];

it.each(damages)("never yields past %s", async (_name, chosen, how, message) => {
  const { log, rows } = await openFaultyLog();
  for (let number = 1; number <= 20; number++) await log.append("s", "any", [alone(number)]);
  for (const [key, row] of await rows.iterator().all()) {
    if (!chosen(key)) continue;
    if (how === "drop") await rows.del(key);
    else
      await rows.put(
        key,
        row.replace(/\d(?=\D*$)/, (digit) => String((Number(digit) + 1) % 10)),
      );
  }
  // Heads of sessions in use are in memory; a log that is opened again reads the rows.
  const { log: fresh } = await openOver(rows);
  const seen: SessionEvent[] = [];
  const error: unknown = await (async () => {
    for await (const event of fresh.read("s")) seen.push(event);
  })().catch((failure: unknown) => failure);
  expect(error).toMatchObject({ code: "LOG_DAMAGED", session: "s" });
  expect(String(error)).toMatch(message);
  expect(seen).toEqual(stored(numberedUpTo(seen.length, 1, alone)));
  await log.close();
});

it("never yields past an event that went missing from a session that is in use", async () => {
  const { log, rows } = await openFaultyLog();
  await appendInTurn(log, ["s"], 20, alone);
  for (const [key, position] of [
    ["e/s/00000000k", 20],
    ["e/s/00000000b", 11],
  ] as const) {
    await rows.del(key);
    for (const backwards of [false, true]) {
      const error: unknown = await Array.fromAsync(log.read("s", { backwards })).catch(
        (failure: unknown) => failure,
      );
      // Backwards, the highest gap is found first.
      expect(error).toMatchObject({ code: "LOG_DAMAGED", position: backwards ? 20 : position });
    }
  }
  await log.close();
});
