/** `turnlog repair`: repairs a damaged store and reports the damage, what is kept and what is lost. */

import { join, resolve } from "node:path";
import { repairLog, type RepairReport } from "../../store/leveldb/index.ts";
import { writeLines, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import { amount } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";

export async function repair({ dir, takeOver, json }: Given, { data }: Output): Promise<void> {
  const report = await repairLog({ dir: resolve(dir), takeOver });
  await writeLines(data, json ? [jsonText(report)] : reportLines(report));
}

function reportLines(report: RepairReport): readonly string[] {
  const { dir, findings, lostBlobs } = report;
  const isWhole = findings.length === 0 && lostBlobs.length === 0;
  if (isWhole) return [`The store in ${dir} is sound: ${held(report)}. Nothing was changed.`];
  return [
    ...(findings.length === 0
      ? [`The log of the store in ${dir} is sound: ${held(report)}.`]
      : logLines(report)),
    ...blobLines(report),
  ];
}

function logLines(report: RepairReport): readonly string[] {
  const { dir, findings, lost, unaccounted, damagedFiles } = report;
  const isLost = lost.length > 0 || unaccounted > 0;
  return [
    `The store in ${dir} was damaged:`,
    ...findings.map((finding) => `  ${finding}`),
    isLost ? "Lost:" : "No event was lost.",
    ...lost.map(({ session, kept, lostFrom, quarantined, missing }) => {
      const aside =
        quarantined === 0 ? "" : `, ${amount(quarantined, "event")} only in the damaged files`;
      const gone = missing === 0 ? "" : `, ${amount(missing, "event")} gone`;
      const left = kept === 0 ? "nothing is kept" : `kept up to ${kept}, lost from ${lostFrom} on`;
      return `  ${session}: ${left}${aside}${gone}`;
    }),
    ...(unaccounted === 0
      ? []
      : [`  at least ${amount(unaccounted, "event")} of unknown sessions`]),
    `The store now holds ${held(report)}.`,
    ...(damagedFiles === undefined
      ? []
      : [
          `The damaged files are kept in ${damagedFiles}; delete them when you no longer need them.`,
        ]),
  ];
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

function held({ sessions, events, blobs }: RepairReport): string {
  const media = blobs === 0 ? "" : ` and ${amount(blobs, "blob")}`;
  return `${amount(sessions, "session")} with ${amount(events, "event")}${media}`;
}
