/** Ids, names of persons, media types and file names are stored and shown whole: none may have megabytes. */

import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import type { Session } from "../../src/public/index.ts";
import { openSession } from "../support/with-runtime.ts";
import type { UserInput } from "../../src/media/index.ts";

const model = scriptedModel(() => "Fine.");

const image = (more: object): UserInput =>
  [{ type: "file", data: "AA==", mediaType: "image/png", ...more }] as UserInput;

const given: readonly (readonly [
  what: string,
  most: number,
  (session: Session, text: string) => Promise<unknown>,
])[] = [
  ["the id of a message", 512, async (session, id) => await session.send("Go.", { id })],
  ["the name of a person", 512, async (session, by) => await session.send("Go.", { by })],
  ["the name of one who cancels", 512, async (session, by) => await session.cancel({ by })],
  ["the id of a message to look up", 512, async (session, id) => await session.withdraw(id)],
  [
    "a media type",
    1_024,
    async (session, text) =>
      await session.send(image({ mediaType: text.replace(/^aaaaaa/, "image/") })),
  ],
  ["a file name", 1_024, async (session, filename) => await session.send(image({ filename }))],
  [
    "the file name of a text",
    1_024,
    async (session, filename) =>
      await session.send([{ type: "text", text: "Go.", filename } as never]),
  ],
];

it.each(given)("%s has a limit, beyond which nothing is recorded", async (_, most, give) => {
  await using open = await openSession({ model });
  const { session } = open;
  const before = (await session.view()).position;
  for (const length of [most + 1, 2_000_000])
    await expect(give(session, "a".repeat(length))).rejects.toMatchObject({
      code: "INVALID_INPUT",
      message: expect.stringMatching(/\d,?\d* characters/) as unknown,
    });
  expect((await session.view()).position).toBe(before);
  await expect(
    give(session, "a".repeat(most)).catch((error: unknown) => error),
  ).resolves.not.toMatchObject({
    code: "INVALID_INPUT",
  });
});
