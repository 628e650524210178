/**
 * Damages drawn by lot to every kind of file of real stores, plain and encrypted, one or two at once. What was
 * acknowledged was noted outside of the store: all of it is there, or the store says that it is not, and how much.
 */

import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { beforeAll, expect, it } from "vitest";
import { verifyLog } from "../../src/archive/verify/index.ts";
import { encryptedLog, folderKeys, openLog, TurnlogError } from "../../src/public/index.ts";
import { repairLog, type RepairReport } from "../../src/store/leveldb/repair/repair-log.ts";
import { copyStore, randomFrom } from "../store/leveldb/disk.ts";
import { patience, times } from "../support/runs.ts";
import {
  damages,
  filesOf,
  kept,
  kindOf,
  type Ledger,
  makeTemplate,
  type Past,
  type Template,
} from "./damaged-store.ts";

const pasts: readonly Past[] = [
  "killed",
  "closed",
  "closed, then killed",
  "killed with much in it",
];
const templates: Template[] = [];
let root: string;

beforeAll(async () => {
  root = await mkdtemp(join(tmpdir(), "turnlog-"));
  for (const past of pasts)
    for (const isEncrypted of [false, true])
      templates.push(await makeTemplate(root, past, isEncrypted));
  return () => rm(root, { recursive: true });
}, patience);

interface Told {
  /** Sessions of which the store says that something is wrong. */
  readonly sessions: ReadonlySet<string>;
  /** Why it refuses to be opened. */
  readonly refusal: TurnlogError | undefined;
}

/** What verify says, as the command does: from a store that is open for reading. */
async function verified({ isEncrypted }: Template, folder: string): Promise<Told> {
  try {
    await using log = encryptedLog(
      await openLog({ dir: join(folder, "store"), readOnly: true }),
      isEncrypted ? folderKeys(join(folder, "keys")) : undefined,
    );
    const { sessions, problems } = await verifyLog(log);
    const bad = sessions.filter((one) => one.problems.length > 0).map(({ session }) => session);
    const all = problems.length > 0 ? ["the store"] : [];
    return { sessions: new Set([...bad, ...all]), refusal: undefined };
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    return { sessions: new Set(), refusal: error };
  }
}

/** What repair says that is gone; undefined if it cannot say. */
async function repaired(dir: string): Promise<RepairReport | TurnlogError> {
  return await repairLog({ dir }).catch((error: unknown) => {
    if (TurnlogError.isInstance(error)) return error;
    throw error;
  });
}

type Figures = Record<"damages" | "refused" | "rows" | "harmless" | "allGone" | "events", number>;

/** What is wrong with what the store says of its damage. */
async function faultsOf(
  template: Template,
  folder: string,
  figures: Figures,
): Promise<readonly string[]> {
  const { ledger } = template;
  const dir = join(folder, "store");
  const faults: string[] = [];
  const hold = (holds: boolean, fault: string): void => {
    if (!holds) faults.push(fault);
  };
  const all = [...ledger.values()].reduce((sum, { length }) => sum + length, 0);
  const { sessions, refusal } = await verified(template, folder);
  if (refusal === undefined) {
    await using log = await openLog({ dir, readOnly: true });
    for (const [session, count] of await kept(log, ledger)) {
      const isWhole = count === ledger.get(session)?.length;
      const isTold = sessions.has(session) || sessions.has("the store");
      hold(isWhole || isTold, `${session} has lost events without a word`);
    }
  } else hold(refusal.code === "LOG_DAMAGED" || refusal.code === "LOG_FOREIGN", String(refusal));

  const report = await repaired(dir);
  if (TurnlogError.isInstance(report)) {
    figures.allGone += 1;
    hold(refusal?.code === report.code, `repair refuses, verify does not: ${report.message}`);
    // Where the files that have the number are gone as well, nobody knows it.
    const had = /\(it had (\d+)\)/.exec(report.message)?.[1] ?? all;
    hold(Number(had) === all, `${all} are gone: ${report.message}`);
    return faults;
  }
  hold(refusal === undefined || report.findings.length > 0, `no finding: ${String(refusal)}`);
  const left = await openLog({ dir });
  const now = await kept(left, ledger);
  await left.close();
  const gone = all - [...now.values()].reduce((sum, events) => sum + events, 0);
  const told = report.lost.reduce((sum, one) => sum + one.quarantined + one.missing, 0);
  const count = told + report.unaccounted;
  // Where the file with the number is damaged itself, repair says so, and may know of fewer.
  const isKnown = !report.findings.join().includes("store.reached");
  hold(count === gone || (!isKnown && count < gone), `${gone} are gone, repair counts ${count}`);
  for (const { session, kept: events } of report.lost)
    hold(now.get(session) === events, `${session} keeps ${now.get(session)}, not ${events}`);
  const media = blobsOf(ledger, now);
  const missing = media.filter((sha256) => !existsSync(blobPath(dir, sha256))).toSorted();
  const lostBlobs = report.lostBlobs.map(({ sha256 }) => sha256).toSorted();
  hold(lostBlobs.join() === missing.join(), `gone: ${missing.join()}; told: ${lostBlobs.join()}`);
  const again = await repaired(dir);
  hold(!TurnlogError.isInstance(again) && again.findings.length === 0, "repaired, it is not sound");
  if (refusal !== undefined) figures.refused += 1;
  else if (sessions.size > 0) figures.rows += 1;
  else figures.harmless += 1;
  figures.events += gone;
  return faults;
}

/** The blobs of the events that are kept. */
function blobsOf(ledger: Ledger, now: ReadonlyMap<string, number>): readonly string[] {
  const found = [...ledger].flatMap(([session, events]) =>
    events
      .slice(0, now.get(session))
      .flatMap(({ type, data }) => (type === "blob.stored" ? [data.sha256] : [])),
  );
  return [...new Set(found)];
}

function blobPath(dir: string, sha256: string): string {
  return join(dir, "blobs", sha256.slice(0, 2), sha256);
}

const count = times(16, 40);

it(
  `tells of everything that is gone after ${count} damages, and how much`,
  async () => {
    const random = randomFrom(7);
    const one = <Item>(items: readonly Item[]): Item => {
      const item = items[Math.floor(random() * items.length)];
      if (item === undefined) throw new Error("nothing to draw from");
      return item;
    };
    const figures: Figures = {
      damages: 0,
      refused: 0,
      rows: 0,
      harmless: 0,
      allGone: 0,
      events: 0,
    };
    const faults: string[] = [];
    for (let trial = 0; trial < count; trial++) {
      const template = one(templates);
      const folder = join(root, "trial");
      await rm(folder, { recursive: true, force: true });
      await copyStore(template.folder, folder);
      const done: string[] = [];
      for (let more = random() < 0.3 ? 2 : 1; more > 0; more--) {
        const files = filesOf(folder);
        const kind = one([...new Set(files.map(kindOf))]);
        const file = one(files.filter((path) => kindOf(path) === kind));
        const [how, spoil] = one(Object.entries(damages));
        spoil(join(folder, file), random);
        done.push(`${file} ${how}`);
      }
      figures.damages += done.length;
      const what = `${trial}: ${template.name}: ${done.join(", ")}`;
      for (const fault of await faultsOf(template, folder, figures))
        faults.push(`${what}: ${fault}`);
    }
    console.log(`${count} damaged stores: ${JSON.stringify(figures)}`);
    expect(faults).toEqual([]);
  },
  patience,
);
