/** `turnlog repair`: mends a damaged store and says what was wrong, what is kept and what is gone. */

import { resolve } from "node:path";
import { z } from "zod";
import { repairLog, type RepairReport } from "../events/leveldb/index.ts";
import { writeLines, type Output } from "./output.ts";
import { amount } from "./wording.ts";

const optionsSchema = z.object({ dir: z.string(), json: z.boolean().default(false) });

/** @throws TurnlogError `LOG_NOT_FOUND`, and what `repairLog` throws */
export async function repair(given: unknown, { data }: Output): Promise<void> {
  const { dir, json } = optionsSchema.parse(given);
  const report = await repairLog({ dir: resolve(dir) });
  await writeLines(data, json ? [JSON.stringify(report)] : reportLines(report));
}

function reportLines(report: RepairReport): readonly string[] {
  const { dir, changed, findings, lost, damagedFiles } = report;
  const held = `${amount(report.sessions, "session")} with ${amount(report.events, "event")}`;
  if (!changed) return [`The store in ${dir} is sound: ${held}. Nothing was changed.`];
  return [
    `The store in ${dir} was damaged:`,
    ...findings.map((finding) => `  ${finding}`),
    ...(lost.length === 0 ? ["No event was lost."] : ["Lost:"]),
    ...lost.map(({ session, kept, lostFrom, quarantined, missing }) => {
      const aside = quarantined === 0 ? "" : `, ${amount(quarantined, "event")} set aside`;
      const gone = missing === 0 ? "" : `, ${amount(missing, "event")} gone`;
      const left = kept === 0 ? "nothing is kept" : `kept up to ${kept}, lost from ${lostFrom} on`;
      return `  ${session}: ${left}${aside}${gone}`;
    }),
    `The store holds ${held} now.`,
    ...(damagedFiles === undefined
      ? []
      : [
          `The damaged files are kept in ${damagedFiles}; delete them when you no longer need them.`,
        ]),
  ];
}
