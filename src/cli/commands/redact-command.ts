/** `turnlog redact`: what a session says at positions is gone for good, when somebody has said that it is meant so. */

import { z } from "zod";
import type { PositionRange } from "../../events/index.ts";
import { redactSession } from "../../archive/index.ts";
import {
  DONE,
  INTERRUPTED,
  type ExitCode,
  writeLine,
  type Output,
  UsageError,
  isConfirmed,
  jsonText,
} from "../output/index.ts";
import { openSessions, sessionOptions } from "../settings/index.ts";
import { amount } from "../wording/index.ts";

const optionsSchema = z.object({
  ...sessionOptions,
  json: z.boolean().default(false),
  yes: z.boolean().default(false),
  reason: z.string().exactOptional(),
});

const inTheOtherProcess =
  "A session of a store that is in use is redacted by the process that has it: `session.redact(positions)` in a program.";

/** @throws UsageError; TurnlogError `LOG_NOT_FOUND`, `LOG_LOCKED`, and as `redactSession` */
export async function redact(
  session: string,
  positions: readonly PositionRange[],
  given: unknown,
  { data, progress }: Output,
): Promise<ExitCode> {
  const { dir, keys, takeOver, json, yes, ...options } = optionsSchema.parse(given);
  const canAsk = process.stdin.isTTY && progress.isTerminal;
  if (!yes && !canAsk) {
    throw new UsageError(
      `Nothing was redacted: nobody can be asked whether that is to go from ${session}. Say --yes.`,
    );
  }
  await using log = await openSessions(
    { dir, keys, takeOver },
    { readOnly: false, elsewhere: inTheOtherProcess },
  );
  if (!yes && !(await isMeant(session, positions))) {
    await writeLine(progress, "Nothing was redacted.");
    return INTERRUPTED;
  }
  const { ranges, summaries, ...redacted } = await redactSession(log, session, positions, options);
  if (json) {
    await writeLine(data, jsonText({ ...redacted, ranges, summaries }));
    return DONE;
  }
  const events = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const gone = `What session ${session} said at ${ranges.map(told).join(", ")} is gone for good: ${amount(events, "event")}.`;
  await writeLine(data, events === 0 ? "All of it had been redacted before." : gone);
  if (summaries.length > 0) {
    await writeLine(
      progress,
      `Summaries may say it again. Look at them, and redact them too: ${summaries.join(", ")}.`,
    );
  }
  return DONE;
}

function told({ from, to }: PositionRange): string {
  return from === to ? String(from) : `${from}-${to}`;
}

async function isMeant(session: string, positions: readonly PositionRange[]): Promise<boolean> {
  return await isConfirmed(
    `Redact what session ${session} says at ${positions.map(told).join(", ")} for good? Nothing brings it back.`,
  );
}
