/** `turnlog verify`: checks one session, or every session of a store, against the laws. */

import { defined } from "../../events/index.ts";
import { verifyLog, verifySession, type LogVerification } from "../../archive/verify/index.ts";
import { DONE, FAILED, type ExitCode, UsageError } from "../output/error-report.ts";
import { writeLines, type Channel, type Output } from "../output/output.ts";
import { jsonText, visibleText } from "../output/visible-text.ts";
import { keysIn, openSessions } from "../settings/store-folder.ts";
import { amount } from "../wording/wording.ts";
import type { Given } from "./option-values.ts";
import type { verifyOptions } from "./command-options.ts";

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
