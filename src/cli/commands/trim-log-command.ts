/** `turnlog trim`: drops delta boundaries or reasoning of a session's old steps, after confirmation. */

import { z } from "zod";
import { trimLog, type TrimmedLog } from "../../archive/trim/index.ts";
import {
  DONE,
  INTERRUPTED,
  type ExitCode,
  writeLine,
  writeLines,
  type Output,
  UsageError,
  assertCanConfirm,
  isConfirmed,
  jsonText,
} from "../output/index.ts";
import { storeOwner } from "../owner/index.ts";
import { openFolder, storeOptions } from "../settings/index.ts";
import { amount, figure } from "../wording/index.ts";
import { momentBefore } from "./option-values.ts";

const optionsSchema = z.object({
  ...storeOptions,
  drop: z.enum(["boundaries", "reasoning"]),
  keepSteps: z.int().nonnegative().exactOptional(),
  before: z.string().exactOptional(),
  shown: z.boolean().default(false),
  dryRun: z.boolean().default(false),
  yes: z.boolean().default(false),
});

const inTheOtherProcess =
  "A session of a store in use can be trimmed by its own process: `runtime.trimLog(session, { drop })` in a program.";

export async function trimStoredLog(
  session: string,
  given: unknown,
  { data, progress }: Output,
): Promise<ExitCode> {
  const { dir, takeOver, json, drop, keepSteps, before, shown, dryRun, yes } =
    optionsSchema.parse(given);
  if (shown && drop !== "reasoning")
    throw new UsageError("--shown is for reasoning: no prompt contains the boundaries of deltas.");
  const options = {
    drop,
    shown,
    ...(keepSteps === undefined ? {} : { keepSteps }),
    ...(before === undefined ? {} : { before: momentBefore("--before", before, Date.now()) }),
  };
  if (!dryRun && !yes)
    assertCanConfirm(
      progress,
      "Nothing was dropped: it needs a confirmation, and there is no terminal to ask at. Add --yes, or --dry-run to see what would be dropped.",
    );
  const owner = await storeOwner(dir);
  await using log =
    owner?.log ??
    (await openFolder({ dir, takeOver }, { readOnly: false, elsewhere: inTheOtherProcess }));
  const trim = async (isDry: boolean): Promise<TrimmedLog> =>
    owner === undefined
      ? await trimLog(log, session, { ...options, dryRun: isDry })
      : await owner.post<TrimmedLog>("/store/trim", { session, ...options, dryRun: isDry });
  if (!dryRun && !yes) {
    const would = await trim(true);
    if (would.events > 0 && !(await confirmTrim(would))) {
      await writeLine(progress, "Nothing was dropped.");
      return INTERRUPTED;
    }
  }
  const done = await trim(dryRun);
  await writeLines(data, json ? [jsonText(done)] : lines(done));
  return DONE;
}

async function confirmTrim({ session, drop, steps, before, after }: TrimmedLog): Promise<boolean> {
  return await isConfirmed(
    `Drop the ${drop} of ${amount(steps, "step")} of session ${session} for good, ${figure(before)} bytes to ${figure(after)}? Nothing brings them back.`,
  );
}

function lines({ session, drop, dryRun, steps, kept, ...done }: TrimmedLog): readonly string[] {
  const { events, before, after, erased } = done;
  const kind = drop === "boundaries" ? "the boundaries of the deltas" : "the reasoning";
  const size = `${figure(before)} bytes become ${figure(after)}`;
  const what =
    events === 0
      ? `Nothing to drop of session ${session}.`
      : `${dryRun ? "Would drop" : "Dropped"} ${kind} of ${amount(steps, "old step")} of session ${session}: ${amount(events, "event")}, ${size}.`;
  return [
    what,
    ...(kept.shown === 0
      ? []
      : [
          `The next prompt has the reasoning of ${amount(kept.shown, "old step")}, which was kept; --shown drops it from the prompt too.`,
        ]),
    ...(kept.bound === 0
      ? []
      : [
          `The reasoning of ${amount(kept.bound, "step")} was kept, because the provider ran calls there.`,
        ]),
    ...(erased || dryRun ? [] : ["The files shrink when the store is opened again."]),
  ];
}
