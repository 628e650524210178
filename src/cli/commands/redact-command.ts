/** `turnlog redact`: redacts positions of a session permanently, after confirmation. */

import { defined, type PositionRange } from "../../events/index.ts";
import { querySessions } from "../../state/index.ts";
import { redactionSchema } from "../../commands/index.ts";
import { openPort } from "../settings/session-port.ts";
import { DONE, INTERRUPTED, type ExitCode } from "../output/error-report.ts";
import { writeLine, type Output } from "../output/output.ts";
import { assertCanConfirm, isConfirmed } from "../output/question.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import { amount } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";
import type { redactOptions } from "./command-options.ts";

const inTheOtherProcess =
  "A session of a store in use can be redacted by its own process: `session.redact(positions)` in a program.";

export async function redact(
  session: string,
  positions: readonly PositionRange[],
  { json, yes, reason, ...place }: Given<typeof redactOptions>,
  { data, progress }: Output,
): Promise<ExitCode> {
  if (!yes) assertCanConfirm(progress, "Nothing was redacted", `Add --yes to redact ${session}.`);
  // Opened before the question: a store that cannot be opened needs no answer.
  await using port = await openPort(place, { elsewhere: inTheOtherProcess });
  const question = `Redact session ${session} at ${positions.map(rangeText).join(", ")} permanently? This cannot be undone.`;
  if (!yes && !(await isConfirmed(question))) {
    await writeLine(progress, "Nothing was redacted.");
    return INTERRUPTED;
  }
  const { ranges, summaries, ...redacted } = redactionSchema.parse(
    await port.post(session, "redact", [positions, defined({ reason })]),
  );
  const repeated = await Array.fromAsync(querySessions(port.log, { where: { of: session } }));
  const runs = repeated.filter(({ metadata }) => metadata?.["experiment"] !== undefined);
  if (runs.length > 0) {
    const names = runs.map((run) => visibleName(run.session)).join(", ");
    await writeLine(
      progress,
      `Runs of \`turnlog compare\` repeat the content. Redact or delete them too: ${names}.`,
    );
  }
  if (json) {
    await writeLine(data, jsonText({ ...redacted, ranges, summaries }));
    return DONE;
  }
  const events = ranges.reduce((sum, { from, to }) => sum + to - from + 1, 0);
  const redactedText = `Session ${session} is redacted at ${ranges.map(rangeText).join(", ")}: ${amount(events, "event")}.`;
  await writeLine(data, events === 0 ? "All of it was already redacted." : redactedText);
  if (summaries.length > 0) {
    await writeLine(
      progress,
      `Summaries may repeat the content. Check these positions, and redact them too: ${summaries.join(", ")}.`,
    );
  }
  return DONE;
}

function rangeText({ from, to }: PositionRange): string {
  return from === to ? String(from) : `${from}-${to}`;
}
