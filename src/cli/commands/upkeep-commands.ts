/** The commands about a store as a whole: `turnlog verify`, `backup`, `copy`, `repair`, `gc`, `rotate-keys` and `postgres`. They write no session. */

import { join, resolve } from "node:path";
import { DONE, type ExitCode, FAILED, UsageError } from "../output/error-report.ts";
import { type Channel, type Output, writeLine, writeLines } from "../output/output.ts";
import { jsonText, visibleText } from "../output/visible-text.ts";
import { unlessInterrupted } from "../settings/environment.ts";
import {
  type StorePlace,
  keysIn,
  masterKeysIn,
  openDatabase,
  openFolder,
  openSessions,
  openStore,
  ownerOf,
} from "../settings/store-folder.ts";
import { amount, figure, linesOf } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";
import { type CopiedLog, copyLog } from "../../archive/exchange/index.ts";
import { type CollectedBlobs, type TurnlogError, defined } from "../../events/index.ts";
import type { copyOptions, printsSql, verifyOptions } from "./command-options.ts";
import { type RepairReport, repairLog } from "../../store/leveldb/index.ts";
import { collectBlobs } from "../../media/index.ts";
import { type LogVerification, verifyLog, verifySession } from "../../archive/verify/index.ts";

/** "3 sessions with 120 events and 1 blob" */
function contents({
  sessions,
  events,
  blobs,
}: Pick<CopiedLog, "sessions" | "events" | "blobs">): string {
  const media = blobs === 0 ? "" : ` and ${amount(blobs, "blob")}`;
  return `${amount(sessions, "session")} with ${amount(events, "event")}${media}`;
}

/** Events between two reports of a backup's progress. */
const STEP = 100_000;

/** Copies the store into an empty folder, and checks the copy. */
export async function backup(
  folder: string,
  { dir, takeOver, json }: Given,
  { data, progress }: Output,
): Promise<ExitCode> {
  const elsewhere =
    "A store in use can be copied by its own process: `runtime.backup(folder)` in a program.";
  await using log = await openFolder({ dir, takeOver }, { readOnly: true, elsewhere });
  return await unlessInterrupted(async (signal) => {
    let reported = 0;
    let reporting: Promise<void> = Promise.resolve();
    const onProgress = ({ events, of }: { readonly events: number; readonly of: number }): void => {
      if (events < reported + STEP && events < of) return;
      if (events === reported) return;
      reported = events;
      reporting = reporting.then(() =>
        writeLine(progress, `${figure(events)} of ${amount(of, "event")}`),
      );
    };
    const made = await log.backup(resolve(folder), { onProgress, signal });
    await reporting;
    const sentence = `${made.dir} holds a copy of ${contents(made)}. Open it with --dir ${made.dir}`;
    await writeLine(data, json ? jsonText(made) : sentence);
    for (const sha256 of made.lostBlobs) {
      await writeLine(progress, `Blob ${sha256} is missing or damaged, both here and in the copy.`);
    }
    return DONE;
  });
}

/** Copies all sessions between a folder and a database. */
export async function copy(
  { from, to, migrate, follow, takeOver, json }: Given<typeof copyOptions>,
  { data, progress }: Output,
): Promise<ExitCode> {
  const [source, target] = [from, to].map((store) => placeOf(store, migrate, takeOver));
  if (source === undefined || target === undefined || nameOf(source) === nameOf(target))
    throw new UsageError("--from and --to name the same store: name another one with --to.");
  if (!migrate && target.remote === undefined)
    throw new UsageError("--no-migrate is only for a copy into a database: leave it out.");
  if (takeOver && source.remote !== undefined && target.remote !== undefined)
    throw new UsageError("--take-over is only for a store in a folder: leave it out.");
  await using read = await openStore(source, { readOnly: true });
  await using written = await openStore(target, { readOnly: false, creates: true });
  const say = (text: string): void => void writeLine(progress, text).catch(() => {});
  const options = {
    follow,
    onProgress: (done: number, remaining: number) =>
      say(`${amount(done, "event")} copied, ${figure(remaining)} to go.`),
    onLost: ({ message }: TurnlogError) => say(`Left out: ${message}`),
  };
  return await unlessInterrupted(async (signal) => {
    const copied = await copyLog(read, written, { ...options, signal });
    await writeLine(data, json ? jsonText(copied) : sentence(copied, signal.aborted));
    return DONE;
  });
}

function sentence({ sessions, events, blobs }: CopiedLog, isInterrupted: boolean): string {
  const media = blobs === 0 ? "" : ` and ${amount(blobs, "blob")}`;
  const copied = `${amount(events, "event")}${media} of ${amount(sessions, "session")} copied.`;
  if (isInterrupted) return `${copied} Run it again to continue.`;
  if (events === 0) return "Nothing to copy: the target has everything that the source has.";
  return `${copied} The target has everything that the source has.`;
}

function placeOf(store: string, migrate: boolean, takeOver: boolean): StorePlace {
  const isUrl = /^postgres(?:ql)?:\/\//.test(store);
  const remote = isUrl
    ? ({ kind: "database", connectionString: store, migrate } as const)
    : undefined;
  return { dir: store, remote, takeOver };
}

function nameOf({ dir, remote }: StorePlace): string {
  return remote?.kind === "database" ? remote.connectionString : resolve(dir);
}

/** Repairs a damaged store, and reports the damage, what is kept and what is lost. */
export async function repair({ dir, takeOver, json }: Given, { data }: Output): Promise<void> {
  const report = await repairLog({ dir: resolve(dir), takeOver });
  await writeLines(data, json ? [jsonText(report)] : reportLines(report));
}

function reportLines(report: RepairReport): readonly string[] {
  const { dir, findings, lostBlobs } = report;
  const isWhole = findings.length === 0 && lostBlobs.length === 0;
  if (isWhole) return [`The store in ${dir} is sound: ${contents(report)}. Nothing was changed.`];
  return [
    ...(findings.length === 0
      ? [`The log of the store in ${dir} is sound: ${contents(report)}.`]
      : logLines(report)),
    ...blobLines(report),
  ];
}

function logLines(report: RepairReport): readonly string[] {
  const { dir, findings, lost, unaccounted, damagedFiles } = report;
  const isLost = lost.length > 0 || unaccounted > 0;
  return linesOf(
    `The store in ${dir} was damaged:`,
    findings.map((finding) => `  ${finding}`),
    isLost ? "Lost:" : "No event was lost.",
    lost.map(({ session, kept, lostFrom, quarantined, missing }) => {
      const aside =
        quarantined === 0 ? "" : `, ${amount(quarantined, "event")} only in the damaged files`;
      const gone = missing === 0 ? "" : `, ${amount(missing, "event")} gone`;
      const left = kept === 0 ? "nothing is kept" : `kept up to ${kept}, lost from ${lostFrom} on`;
      return `  ${session}: ${left}${aside}${gone}`;
    }),
    unaccounted > 0 && `  at least ${amount(unaccounted, "event")} of unknown sessions`,
    `The store now holds ${contents(report)}.`,
    damagedFiles &&
      `The damaged files are kept in ${damagedFiles}; delete them when you no longer need them.`,
  );
}

/** Lost blobs, which only a backup brings back. */
function blobLines({ dir, lostBlobs }: RepairReport): readonly string[] {
  if (lostBlobs.length === 0) return [];
  return [
    `${amount(lostBlobs.length, "blob")} gone:`,
    ...lostBlobs.map(({ sha256, session, position, setAside }) => {
      const why =
        setAside === undefined ? "it is missing" : `it was altered, and is kept as ${setAside}`;
      return `  ${sha256}, which ${session} has from position ${position} on: ${why}`;
    }),
    `Put them back from a backup, into ${join(dir, "blobs")} under the first two digits of their names; turnlog verify says where they belong.`,
  ];
}

/** Deletes the blobs that no session refers to; none if a session cannot be read. */
export async function collectGarbage(
  { json, ...place }: Given,
  { data }: Output,
): Promise<ExitCode> {
  const owner = await ownerOf(place);
  const collected =
    owner === undefined
      ? await collectHere(place)
      : await owner.post<CollectedBlobs>("/store/collect-blobs", {});
  const { removed, bytes } = collected;
  const sentence = `Deleted ${amount(removed, "blob")} that no session uses, ${figure(bytes)} bytes.`;
  await writeLine(data, json ? jsonText(collected) : sentence);
  return DONE;
}

async function collectHere(place: StorePlace): Promise<CollectedBlobs> {
  const elsewhere =
    "The blobs of a store in use can be collected by its own process: `runtime.collectBlobs()` in a program.";
  await using log = await openStore(place, { readOnly: false, elsewhere });
  const { blobs } = log;
  return blobs === undefined ? { removed: 0, bytes: 0 } : await collectBlobs(log, blobs);
}

/** Wraps the keys of all sessions by the current master key. */
export async function rotateKeys(
  { dir, keys: folder, takeOver, json }: Given,
  { data }: Output,
): Promise<ExitCode> {
  const keys = masterKeysIn(folder, dir);
  if (keys === undefined)
    throw new UsageError(
      "Name the folder of the keys (--keys or TURNLOG_KEYS), and set TURNLOG_MASTER_KEY to the new master key and TURNLOG_FORMER_MASTER_KEYS to the former ones.",
    );
  const elsewhere =
    "The keys of a store in use can be rotated by its own process: `keys.rotate(runtime.log)` in a program.";
  await using log = await openFolder({ dir, takeOver }, { readOnly: false, elsewhere });
  const rotated = await keys.rotate(log);
  const sentence = `${amount(rotated.rotated, "key")} of ${rotated.keys} rewrapped. Former master keys are now needed only for copies of the keys.`;
  await writeLine(data, json ? jsonText(rotated) : sentence);
  return DONE;
}

/**
 * Creates the tables of a database, or prints the SQL that does: with `--sql` and a database what this database lacks;
 * without a database, all.
 */
export async function migrateDatabase(
  _work: "migrate",
  { remote, sql, json }: Given<[typeof printsSql]>,
  { data, progress }: Output,
): Promise<void> {
  if (sql) {
    const { missingSchemaSql, postgresSchemaSql } = await import("../../store/postgres/index.ts");
    const text =
      remote?.kind !== "database"
        ? postgresSchemaSql()
        : await missingSchemaSql(remote.connectionString);
    if (text === "") await writeLine(progress, "Nothing to do: the tables are there.");
    else await writeLine(data, json ? jsonText({ sql: text }) : text);
    return;
  }
  if (remote?.kind !== "database")
    throw new UsageError("Name the database with --postgres <url> or TURNLOG_POSTGRES_URL.");
  if (!remote.migrate)
    throw new UsageError(
      "--no-migrate forbids the very thing that this command does: leave it out.",
    );
  await (await openDatabase(remote, { creates: true })).close();
  const done = "The tables of the database are those of this release, or of the next one.";
  await writeLine(data, json ? jsonText({ migrated: true }) : done);
}

type Verified = LogVerification["sessions"][number];

/** The exit code is 1 for any problem. */
export async function verify(
  session: string | undefined,
  { json, chain, every, ...place }: Given<typeof verifyOptions>,
  { data }: Output,
): Promise<ExitCode> {
  const options = defined({ every });
  const noted = chain === undefined ? {} : { chain: chainEnd(chain) };
  if (chain !== undefined && session === undefined) {
    throw new UsageError("--chain checks one session: name it.");
  }
  await using log = await openSessions(
    place,
    // With keys, one that is missing is a problem of its session.
    {
      readOnly: true,
      withoutKey: keysIn(place.keys, place.dir) === undefined ? "redact" : "refuse",
    },
  );
  const found: LogVerification =
    session === undefined
      ? await verifyLog(log, options)
      : { sessions: [await verifySession(log, session, { ...options, ...noted })], problems: [] };
  await writeLines(data, json ? jsonLines(found) : textLines(found, data));
  const all = [...found.problems, ...found.sessions.flatMap(({ problems }) => problems)];
  return all.length === 0 ? DONE : FAILED;
}

/** First the problems of the store, then one line per session. */
function jsonLines({ sessions, problems }: LogVerification): readonly string[] {
  const store = problems.length === 0 ? [] : [jsonText({ problems })];
  return [...store, ...sessions.map((one) => jsonText(one))];
}

function textLines({ sessions, problems }: LogVerification, data: Channel): readonly string[] {
  const store = problems.map(({ what }) => data.style("red", visibleText(`the store: ${what}`)));
  if (sessions.length === 0 && store.length === 0) return ["The store has no sessions."];
  return [...store, ...sessions.flatMap((one) => sessionLines(one, data))];
}

function sessionLines(found: Verified, data: Channel): readonly string[] {
  const { session, events, prompts, lostPrompts, chain, redacted, problems } = found;
  const size = `${amount(events, "event")}, ${amount(prompts, "prompt")}`;
  const verdict =
    problems.length === 0
      ? data.style("green", "sound")
      : data.style("red", amount(problems.length, "problem"));
  return [
    `${session}: ${size}: ${verdict}`,
    ...(lostPrompts === undefined ? [] : [lostLine(lostPrompts)]),
    ...(redacted === undefined ? [] : [redactedLine(redacted)]),
    ...(chain === undefined ? [] : [chainLine(chain)]),
    ...problems.map(
      ({ position, rule, what }) => `  at ${position}, ${rule}: ${visibleText(what)}`,
    ),
  ];
}

function lostLine(prompts: number): string {
  return `  ${amount(prompts, "prompt")} not checkable: reasoning was dropped`;
}

/** Without its key, the whole content of an encrypted session counts as redacted. */
function redactedLine({ events, prompts }: NonNullable<Verified["redacted"]>): string {
  return `  not readable: ${amount(events, "event")}; for that reason not checkable: ${amount(prompts, "prompt")}`;
}

/** The end of the hash chain, to note elsewhere and to pass to `--chain` later. */
function chainLine({ position, digest, open }: NonNullable<Verified["chain"]>): string {
  const rest = open === 0 ? "" : `, ${amount(open, "event")} since`;
  return `  chained up to ${position}:${digest}${rest}`;
}

function chainEnd(text: string): { readonly position: number; readonly digest: string } {
  const [, position, digest = ""] = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(text) ?? [];
  if (position !== undefined) return { position: Number(position), digest };
  throw new UsageError("--chain takes <position>:<digest>, as verify prints it.");
}
