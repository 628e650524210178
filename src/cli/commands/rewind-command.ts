/** `turnlog rewind`, `checkout` and `branches`: go back to a position of a session between two turns or to another branch, and list the branches. Run nothing. */

import { rewoundSchema, type RewindPlace, type Rewound } from "../../commands/index.ts";
import { jsonText, visibleName } from "../output/visible-text.ts";
import { UsageError } from "../output/error-report.ts";
import { writeLine, writeLines, type Output } from "../output/output.ts";
import { openPort } from "../settings/session-port.ts";
import { openSessions } from "../settings/store-folder.ts";
import { amount } from "../wording/wording.ts";
import { sessionBranches, stateAt } from "../../state/index.ts";
import { branchLine } from "../show/show-history.ts";
import type { Given } from "./option-values.ts";
import type { tell as tellOption, rewindOptions } from "./command-options.ts";

type RewindOptions = Given<typeof rewindOptions>;

const inTheOtherProcess =
  "A session of a store in use can be rewound by its own process: `session.rewind({ beforeTurn })` in a program, /undo in a chat; `session.checkout(branch)` and /branches <number> return.";

export async function rewind(
  session: string,
  { tell, ...options }: RewindOptions,
  output: Output,
): Promise<void> {
  await move(session, "rewind", [{ ...onlyPlace(options), tell }], options, output);
}

export async function checkout(
  session: string,
  branch: number,
  { tell, ...options }: Given<[typeof tellOption]>,
  output: Output,
): Promise<void> {
  await move(session, "checkout", [branch, { tell }], options, output);
}

async function move(
  session: string,
  name: "rewind" | "checkout",
  args: readonly unknown[],
  options: Given,
  { data, progress }: Output,
): Promise<void> {
  await using port = await openPort(options, { elsewhere: inTheOtherProcess });
  const rewound = rewoundSchema.parse(await port.post(session, name, args));
  if (options.json) return await writeLine(data, jsonText({ session, ...rewound }));
  await writeLine(data, (name === "rewind" ? sentence : checkoutSentence)(session, rewound));
  await writeLines(progress, effectLines(rewound));
}

/** @throws UsageError unless one place is named */
function onlyPlace({ to, beforeTurn, beforeMessage }: Omit<RewindOptions, "tell">): RewindPlace {
  const [place, ...others]: readonly RewindPlace[] = [
    ...(to === undefined ? [] : [{ to }]),
    ...(beforeTurn === undefined ? [] : [{ beforeTurn }]),
    ...(beforeMessage === undefined ? [] : [{ beforeMessage }]),
  ];
  if (place !== undefined && others.length === 0) return place;
  throw new UsageError(
    "A rewind goes to one place: use exactly one of --to <position>, --before-turn <n> and --before-message <id>.",
  );
}

function sentence(session: string, { branch, to, turns }: Rewound): string {
  const { length } = turns;
  return length === 0
    ? `Session ${session} is already at position ${to}, on branch ${branch}: nothing changed.`
    : `Session ${session} is back at position ${to}, on the new branch ${branch}; ${amount(length, "turn")} left the active branch.`;
}

function checkoutSentence(session: string, { branch, to, turns }: Rewound): string {
  const { length } = turns;
  return length === 0
    ? `Session ${session} is already on branch ${branch}, at position ${to}: nothing changed.`
    : `Session ${session} is on branch ${branch} again, at position ${to}; ${amount(length, "turn")} left the active branch.`;
}

function effectLines({ effects }: Rewound): readonly string[] {
  if (effects.length === 0) return [];
  return [
    `${amount(effects.length, "call")} had run, and their effects are not undone:`,
    ...effects.map(({ turn, step, toolName, callId, status }) =>
      visibleName(
        `  turn ${turn}, step ${step}: ${toolName} (${callId}), ${status === "succeeded" ? "succeeded" : "its outcome is unknown"}`,
      ),
    ),
  ];
}

export async function branches(
  session: string,
  { json, ...place }: Given,
  { data }: Output,
): Promise<void> {
  await using log = await openSessions(place, { readOnly: true, withoutKey: "redact" });
  const found = sessionBranches(await stateAt(log, session));
  await writeLines(
    data,
    found.map((branch) => (json ? jsonText(branch) : branchLine(branch))),
  );
}
