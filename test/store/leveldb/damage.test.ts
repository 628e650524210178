/**
 * Real files of real stores, cut and flipped at random places: everything that is read is true, a
 * refused store is unchanged, and repair makes a working store.
 */
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, describe, expect, it } from "vitest";
import {
  copyStore,
  cut,
  LARGEST_BATCH,
  flipBit,
  logFiles,
  openRefusal,
  randomFrom,
  temporaryFolder,
  timeout,
  times,
} from "./disk.ts";
import {
  makeTemplate,
  openDamaged,
  repairDamaged,
  type Outcome,
  type Past,
  type Template,
} from "./damaged-store.ts";
import { startChild } from "./process.ts";

const trials = times(1, 12);

/** // Closing empties LevelDB's log file, so only killed stores have one. */
const cases: readonly (readonly [file: string, ending: RegExp, pasts: readonly Past[]])[] = [
  ["LevelDB's log file", /\.log$/, ["killed", "closed, then killed"]],
  ["a table", /\.ldb$/, ["closed", "closed, then killed"]],
  ["the manifest", /^MANIFEST/, ["killed", "closed", "closed, then killed"]],
  ["CURRENT", /^CURRENT$/, ["killed", "closed"]],
];

const templates = new Map<Past, Template>();

beforeAll(async () => {
  const root = await mkdtemp(join(tmpdir(), "turnlog-"));
  for (const past of ["killed", "closed", "closed, then killed"] as const) {
    templates.set(past, await makeTemplate(join(root, past), past));
  }
  return () => rm(root, { recursive: true });
}, timeout);

describe.each(cases)("damage to %s", (_file, ending, pasts) => {
  for (const past of pasts) {
    for (const damage of ["a flipped bit", "a cut"] as const) {
      it(
        `is found or harmless: ${damage} in a store that was ${past}`,
        async () => {
          const template = templates.get(past);
          if (template === undefined) throw new Error(`no store that was ${past}`);
          const random = randomFrom(trials + past.length + ending.source.length);
          for (let trial = 0; trial < trials; trial++) {
            const dir = join(await temporaryFolder(), "store");
            await copyStore(template.dir, dir);
            const files = await logFiles(dir, ending);
            const file = files[Math.floor(random() * files.length)];
            if (file === undefined) throw new Error(`no file ${String(ending)}`);
            const offset = Math.floor(random() * file.size);
            const bit = Math.floor(random() * 8);
            const where = `${file.path.slice(dir.length)} at ${offset} of ${file.size}, bit ${bit}`;
            if (damage === "a cut") await cut(file.path, offset);
            else await flipBit(file.path, offset, bit);
            try {
              const outcome = await openDamaged(dir, template.truth);
              // At the end of a log file, nobody can tell a cut from a write that never happened.
              const unknowable = damage === "a cut" ? Number.POSITIVE_INFINITY : LARGEST_BATCH;
              // A table is checked before LevelDB reads it: some altered keys would end the
              // process.
              expect(outcome.opened && ending.test(".ldb")).toBe(false);
              expect(outcome.silent).toBeLessThanOrEqual(
                /log/.test(ending.source) ? unknowable : 0,
              );
              await expectRepair(dir, template, outcome);
            } catch (error) {
              throw new Error(`${damage} in ${where}`, { cause: error });
            }
          }
        },
        timeout,
      );
    }
  }
});

it(
  "finds what LevelDB dropped from its log file, however much was written before it",
  async () => {
    for (let trial = 0; trial < times(1); trial++) {
      const dir = await temporaryFolder();
      // Without syncing only the commit chain tells, from a mark that is certainly in the tables.
      const child = startChild(["append", dir, "os", "50", "2000"]);
      // Some 25 MB: the newest mark is then behind the beginning of LevelDB's log file.
      await child.line((line) => Number(line) >= 12_000 + 500 * trial);
      await child.kill();
      for (const { path, size } of await logFiles(dir, /\.log$/)) {
        if (size > 100_000) await flipBit(path, 1000 + trial * 100, trial % 8);
      }
      expect((await openRefusal("LOG_DAMAGED", dir)).message).toContain("global positions");
    }
  },
  timeout,
);

/**
 * Checks that an accepted store needs no repair, and that a refused one is repaired with all losses
 * reported.
 */
async function expectRepair(
  dir: string,
  { truth }: Template,
  { refused, silent }: Outcome,
): Promise<void> {
  const { changed, lost, sums } = await repairDamaged(dir, truth);
  expect({ refused: refused > 0, silent: silent > 0, changed }).toEqual({
    refused: changed && refused > 0,
    silent: silent > 0 && !changed,
    changed,
  });
  const told = lost.reduce((sum, { quarantined, missing }) => sum + quarantined + missing, 0);
  expect(sums + told).toBeLessThanOrEqual(truth.order.length);
}
