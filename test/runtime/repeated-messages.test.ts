/** A message id names one message: the same message again is that one, another one is refused. */

import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { describe, expect, it } from "vitest";
import {
  createRuntime,
  exportSession,
  importSession,
  memoryKeys,
  openLog,
  openMemoryLog,
  type Session,
} from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { png } from "../support/media.ts";
import { storedEvents } from "../support/replay.ts";
import { saying } from "../support/script.ts";
import { openSession, reopen } from "../support/with-runtime.ts";
import type { SendOptions } from "../../src/commands/index.ts";
import type { UserInput } from "../../src/media/index.ts";

const model = scriptedModel(() => "Done.");
const image = (width: number, height: number): Uint8Array => png({ width, height, seed: 1 });
const picture = (bytes: Uint8Array, more: object = {}): UserInput => [
  { type: "text", text: "Look." },
  { type: "file", data: bytes, mediaType: "image/png", ...more },
];

/** By name: what was sent, and what of it is the same, however it is written down. */
const same: readonly (readonly [string, UserInput, UserInput])[] = [
  ["a text", "Go.", "Go."],
  ["a text and its only part", "Go.", [{ type: "text", text: "Go." }]],
  ["a small picture", picture(image(4, 4)), picture(image(4, 4))],
  ["a large picture", picture(image(90, 90)), picture(image(90, 90))],
  [
    "a picture as bytes and as an address of data",
    picture(image(90, 90)),
    [
      { type: "text", text: "Look." },
      {
        type: "file",
        data: `data:image/png;base64,${Buffer.from(image(90, 90)).toString("base64")}`,
        mediaType: "image/*",
      },
    ],
  ],
  [
    "an address",
    [{ type: "image", image: new URL("https://example.org/a.png") }],
    [{ type: "image", image: "https://example.org/a.png" }],
  ],
  [
    "options in another order",
    [{ type: "text", text: "Go.", providerOptions: { p: { a: 1, b: 2 } } }],
    [{ type: "text", text: "Go.", providerOptions: { p: { b: 2, a: 1 } } }],
  ],
];

const other: readonly (readonly [string, UserInput, UserInput])[] = [
  ["a text", "Go.", "Stop."],
  ["a text with a space", "Go.", "Go. "],
  ["a small picture", picture(image(4, 4)), picture(image(4, 5))],
  ["a large picture", picture(image(90, 90)), picture(image(90, 91))],
  [
    "a picture's name",
    picture(image(4, 4), { filename: "a.png" }),
    picture(image(4, 4), { filename: "b.png" }),
  ],
  ["a part more", picture(image(4, 4)), [{ type: "text", text: "Look." }]],
  [
    "an address",
    [{ type: "image", image: "https://example.org/a.png" }],
    [{ type: "image", image: "https://example.org/b.png" }],
  ],
  [
    "options",
    [{ type: "text", text: "Go.", providerOptions: { p: { a: 1 } } }],
    [{ type: "text", text: "Go.", providerOptions: { p: { a: 2 } } }],
  ],
];

const conflict = { code: "MESSAGE_CONFLICT", session: "s", details: { messageId: "m" } };

async function refusal(
  session: Session,
  input: UserInput,
  options?: SendOptions,
): Promise<unknown> {
  return await session.send(input, { id: "m", ...options }).then(
    () => "taken",
    (error: unknown) => error,
  );
}

describe.each([
  ["with blobs", {}],
  ["without blobs", { blobs: false }],
] as const)("%s, a message under a known id", (_, options) => {
  it.each(same)("is the same: %s", async (_name, first, second) => {
    await using open = await openSession({ model }, options);
    const before = await (await open.session.send(first, { id: "m" })).result;
    const stored = await open.events();
    const turn = await open.session.send(second, { id: "m" });
    expect(await turn.result).toEqual(before);
    // The way in which large content is kept may have changed since.
    await using again = await reopen(open, { model }, { blobs: { inlineBytes: 1 } });
    expect(await (await again.session.send(second, { id: "m" })).result).toEqual(before);
    expect(await again.events()).toEqual(stored);
  });

  it.each(other)("is refused with other content: %s", async (_name, first, second) => {
    await using open = await openSession({ model }, options);
    await (
      await open.session.send(first, { id: "m" })
    ).result;
    const stored = await open.events();
    expect(await refusal(open.session, second)).toMatchObject(conflict);
    await using again = await reopen(open, { model }, options);
    expect(await refusal(again.session, second)).toMatchObject(conflict);
    expect(await again.events()).toEqual(stored);
  });
});

it("is refused while the first one waits, runs, or is withdrawn, and among messages sent at once", async () => {
  const hold = gate();
  const slow = scriptedModel([saying("One ", hold, "moment."), "Two."]);
  await using open = await openSession({ model: slow });
  const [first, second] = await Promise.allSettled([
    open.session.send("Go.", { id: "m" }),
    open.session.send("Stop.", { id: "m" }),
  ]);
  expect([first.status, second.status]).toEqual(["fulfilled", "rejected"]);
  await hold.reached;
  expect(await refusal(open.session, "Stop.")).toMatchObject(conflict);
  await open.session.send("Later.", { id: "n" });
  await expect(open.session.send("Now.", { id: "n" })).rejects.toMatchObject({
    code: "MESSAGE_CONFLICT",
  });
  await open.session.withdraw("n");
  await expect(open.session.send("Now.", { id: "n" })).rejects.toMatchObject({
    code: "MESSAGE_CONFLICT",
  });
  hold.open();
  await open.session.idle();
  const queued = (await open.types()).filter((type) => type === "message.queued");
  expect(queued).toHaveLength(2);
});

it("another way of delivery is refused, and the refusal names `reschedule`", async () => {
  const hold = gate();
  const slow = scriptedModel([saying("One ", hold, "moment."), "Two."]);
  await using open = await openSession({ model: slow });
  await open.session.send("Go.");
  await hold.reached;
  await open.session.send("Also this.", { id: "m", delivery: "steer" });
  const refused = await refusal(open.session, "Also this.", { delivery: "follow-up" });
  expect(refused).toMatchObject(conflict);
  expect(String(refused)).toContain('session.reschedule("m", "follow-up")');
  expect(await refusal(open.session, "Also this.")).toBe("taken");
  expect(await refusal(open.session, "Also this.", { delivery: "steer" })).toBe("taken");
  await open.session.reschedule("m", "follow-up");
  // Both are true of it: what its sender said, and how it waits now.
  expect(await refusal(open.session, "Also this.", { delivery: "steer" })).toBe("taken");
  expect(await refusal(open.session, "Also this.", { delivery: "follow-up" })).toBe("taken");
  hold.open();
  await open.session.idle();
  const late = await refusal(open.session, "Also this.", { delivery: "follow-up" });
  expect(String(late)).toContain("no longer waits");
});

it("a fork and an imported session know what was accepted before", async () => {
  await using open = await openSession({ model });
  await (
    await open.session.send(picture(image(90, 90)), { id: "m" })
  ).result;
  const fork = await open.session.fork({ id: "f" });
  expect(await refusal(fork, picture(image(90, 91)))).toMatchObject({ code: "MESSAGE_CONFLICT" });
  expect(await refusal(fork, picture(image(90, 90)))).toBe("taken");
  await importSession(open.log, exportSession(open.log, "s"), { as: "i" });
  const imported = await open.runtime.session("i");
  expect(await refusal(imported, "Other.")).toMatchObject({ code: "MESSAGE_CONFLICT" });
  expect(await refusal(imported, picture(image(90, 90)))).toBe("taken");
});

it("a redacted message cannot be compared: the refusal says so and names the way to its turn", async () => {
  const log = await openMemoryLog();
  const runtime = await createRuntime({
    log,
    agent: { model },
    encryption: { keys: memoryKeys() },
  });
  const session = await runtime.session("s");
  const { queuePosition } = await session.send("My name is Ada.", { id: "m" });
  await session.idle();
  await session.redact(queuePosition);
  const refused = await refusal(session, "My name is Ada.");
  expect(refused).toMatchObject(conflict);
  expect(String(refused)).toContain("redacted");
  expect(String(refused)).toContain('session.turn("m")');
  expect((await (await session.turn("m")).result).text).toBe("Done.");
  await runtime.close();
  await log.close();
});

it("files are compared by their bytes, and by their names once they are gone", async () => {
  const dir = await mkdtemp(join(tmpdir(), "turnlog-again-"));
  const log = await openLog({ dir: join(dir, "store") });
  const runtime = await createRuntime({ log, agent: { model } });
  const session = await runtime.session("s");
  const path = join(dir, "notes.txt");
  await writeFile(path, "one");
  const files = [path];
  await session.send({ text: "Read.", files }, { id: "m" });
  await session.idle();
  const stored = await storedEvents(log, "s");
  expect(await refusal(session, { text: "Read.", files: [pathToFileURL(path)] })).toBe("taken");
  expect(await refusal(session, { text: "Write.", files })).toMatchObject(conflict);
  await writeFile(path, "two");
  expect(await refusal(session, { text: "Read.", files })).toMatchObject(conflict);
  await rm(path);
  expect(await refusal(session, { text: "Read.", files })).toBe("taken");
  expect(await refusal(session, { text: "Write.", files })).toMatchObject(conflict);
  expect(await refusal(session, { text: "Read.", files: [join(dir, "other.txt")] })).toMatchObject(
    conflict,
  );
  expect(await refusal(session, { files: "x" } as never)).toMatchObject({ code: "INVALID_INPUT" });
  expect(await storedEvents(log, "s")).toEqual(stored);
  await runtime.close();
  await log.close();
  await rm(dir, { recursive: true });
});
