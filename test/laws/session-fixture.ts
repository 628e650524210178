/**
 * Recorded sessions in `fixtures/sessions`: `<name>.jsonl` has one stored row a line, the line
 * being the position; `<name>.states.json` what they mean: digests for every position, and the
 * whole state at the last. `TURNLOG_RECORD=1 npx vitest run test/laws` records them anew, with
 * `TURNLOG_RECORD=meaning` only what they mean: after a change of the folds the events stay.
 */

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { checksum, createCodec, type SessionEvent } from "../../src/events/index.ts";
import { replay, type Replay } from "../support/replay.ts";
import {
  digestsSchema,
  partsOf,
  sessionDigests,
  sorted,
  type SessionDigests,
} from "./session-digests.ts";
import { SESSION } from "./stage.ts";

export const fixtureNames = [
  "tools",
  "trouble",
  "long-talk",
  "limits",
  "one-id",
  "approvals",
  "second-thoughts",
  "cancels",
  "compactions",
  "pruning",
  "overflow",
  "crashes",
  "steering",
  "retries",
  "reasoning",
  "parallel",
  "counts",
] as const;
export type FixtureName = (typeof fixtureNames)[number];

export interface SessionMeaning {
  readonly digests: SessionDigests;
  readonly last: Readonly<Record<string, unknown>>;
}

const meaningSchema: z.ZodType<SessionMeaning> = z.object({
  digests: digestsSchema,
  last: z.record(z.string(), z.unknown()),
});

const codec = createCodec();
const path = (file: string): string =>
  fileURLToPath(new URL(`../../fixtures/sessions/${file}`, import.meta.url));

/** Through JSON, so that what is absent and what is undefined are the same, as in the stored file. */
export function meaningOf({ states, last }: Replay): SessionMeaning {
  const parts = sorted(partsOf(last));
  return meaningSchema.parse(
    JSON.parse(JSON.stringify({ digests: sessionDigests(states), last: parts })),
  );
}

export async function readFixture(name: FixtureName): Promise<readonly SessionEvent[]> {
  const lines = (await readFile(path(`${name}.jsonl`), "utf8")).trimEnd().split("\n");
  return lines.map((row, index) => {
    const key = { session: SESSION, position: index + 1 };
    return codec.decode(checksum(row, key) + row, key);
  });
}

export async function readMeaning(name: FixtureName): Promise<SessionMeaning> {
  return meaningSchema.parse(JSON.parse(await readFile(path(`${name}.states.json`), "utf8")));
}

/** Stacks name files of the machine on which they were made. */
export async function writeFixture(
  name: FixtureName,
  events: readonly SessionEvent[],
): Promise<void> {
  const rows = events.map((event) => {
    const encoded = codec.encode(event, { session: SESSION, position: event.position });
    const row: unknown = JSON.parse(encoded.slice(encoded.indexOf("[")));
    return JSON.stringify(row, (key, value: unknown) => (key === "stack" ? undefined : value));
  });
  await writeFile(path(`${name}.jsonl`), rows.map((row) => `${row}\n`).join(""));
  await writeMeaning(name);
}

export async function writeMeaning(name: FixtureName): Promise<void> {
  const { digests, last } = meaningOf(replay(await readFixture(name)));
  const columns = Object.entries(digests).map(
    ([part, column]) => `    ${JSON.stringify(part)}: ${JSON.stringify(column)}`,
  );
  const whole = JSON.stringify(last, undefined, 2).replaceAll("\n", "\n  ");
  await writeFile(
    path(`${name}.states.json`),
    `{\n  "digests": {\n${columns.join(",\n")}\n  },\n  "last": ${whole}\n}\n`,
  );
}
