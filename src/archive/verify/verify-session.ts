/** Holds the log of one session against the laws. Reads, runs nothing and writes nothing. */

import { z } from "zod";
import { check, code, implementation, optionsOf } from "../../validation/index.ts";
import {
  TurnlogError,
  type BlobStore,
  type ChainEnd,
  type EventLog,
  type ForkPoint,
  type SessionEvent,
  type TurnlogErrorCode,
} from "../../events/index.ts";
import { blobsOf } from "../../media/index.ts";
import { linkOf, checkPosition } from "../../state/index.ts";
import { blobFindings } from "./blob-check.ts";
import { Inspection, type CheckedChain, type Finding } from "./inspection.ts";
import type { RedactedContent } from "./prompt-check.ts";
import { openStateCheck } from "./state-check.ts";

/** What is looked at beside the events, and how closely. */
export interface VerifyOptions {
  /** Where blobs lie. Default: those of the log; where it knows of none, they are not looked at. */
  readonly blobs?: BlobStore;
  /**
   * At every so many positions the state is kept as a snapshot, loaded again and compared with the
   * fold from there on. 1 is every position. Default: a sixteenth of the session.
   */
  readonly every?: number;
}

/** The same for one session. */
export interface VerifySessionOptions extends VerifyOptions {
  /**
   * The end of its hash chain as an earlier verification told it, kept outside of the store: without
   * it nobody can tell a chain that was made again, or cut off at its end.
   */
  readonly chain?: ChainEnd;
}

/** What is wrong, and where it was found. */
export interface LogProblem extends Finding {
  readonly session: string;
}

/** What {@link verifySession} found. */
export interface SessionVerification {
  readonly session: string;
  /** How many events were read and checked. */
  readonly events: number;
  /** How many prompts were made again and compared by their digests. */
  readonly prompts: number;
  /** How many could not be, since reasoning that they had was dropped (`trimLog`), or since they had what no prompt can contain; absent for none. */
  readonly lostPrompts?: number;
  /** Where something was redacted, how much, and how many of the prompts cannot be compared for it. */
  readonly redacted?: RedactedContent;
  /** The end of its hash chain, where it has one. */
  readonly chain?: CheckedChain;
  /** Empty when the log keeps every law. */
  readonly problems: readonly LogProblem[];
}

/** Of these the log itself is to blame: they are what is looked for. */
const findings: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "LOG_DAMAGED",
  "EVENT_INVALID",
  "EVENT_TOO_NEW",
]);

const fields = { blobs: implementation({ get: code }), every: z.unknown() };
export const verifySchema: z.ZodType = optionsOf<VerifyOptions>(fields, {});
const schema = optionsOf<VerifySessionOptions>({ ...fields, chain: implementation({}) }, {});

/**
 * Reads all of a session's log and says what is wrong with it: sequence, checksums and schemas, the
 * order of turns and steps, input exactly once, the end of every call, token sums, the digest of
 * every prompt, its hash chain, its blobs, the link of a fork, and the stored states. After an event that cannot be read nothing more is checked.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT`, `LOG_FAILED`, `LOG_CLOSED`
 */
export async function verifySession(
  log: EventLog,
  session: string,
  options: VerifySessionOptions = {},
): Promise<SessionVerification> {
  check(schema, options, "verifySession", { name: "options", session });
  checkEvery(options);
  const inspection = new Inspection(options.chain);
  const problems: LogProblem[] = [];
  const add = (found: readonly Finding[]): void => {
    for (const finding of found) problems.push({ session, ...finding });
  };
  let prompts = 0;
  const blobs = options.blobs ?? blobsOf(log);
  try {
    await checkPosition(log, session);
    const last = await log.revision(session);
    const every = options.every ?? Math.ceil(last / 16);
    const states = await openStateCheck(log, session, { every, last });
    const link = await linkOf(log, session);
    for await (const event of log.read(session, { to: last })) {
      add(inspection.see(event));
      if (event.position === (link?.position ?? 0) + 1) add(forkFindings(event, link));
      add(await states.see(event, inspection.state));
      if (event.type === "blob.stored") add(await blobFindings(event, blobs));
      if (event.type === "step.started") prompts += 1;
    }
    add(inspection.end());
    add(states.end());
  } catch (error) {
    add([unreadable(error, inspection.state.position + 1)]);
  }
  const { state, chain, lostPrompts, redacted } = inspection;
  const found = {
    prompts: prompts - lostPrompts,
    ...(lostPrompts === 0 ? {} : { lostPrompts }),
    ...(redacted === undefined ? {} : { redacted }),
    ...(chain === undefined ? {} : { chain }),
  };
  return { session, events: state.position, ...found, problems };
}

/** The first event of a fork's own, held against the list of sessions. */
function forkFindings(event: SessionEvent, link: ForkPoint | undefined): readonly Finding[] {
  const { position, type } = event;
  const rule = "forks";
  if (link === undefined) {
    const what = "it is the first event, and there is nothing that could be forked before it";
    return type === "session.forked" ? [{ position, rule, what }] : [];
  }
  const said = type === "session.forked" ? event.data.from : undefined;
  if (said?.session === link.session && said.position === link.position) return [];
  const told = said === undefined ? type : `a fork of ${said.session} at ${said.position}`;
  const what = `the list of sessions says that it branches off ${link.session} at ${link.position}, and the event there is ${told}`;
  return [{ position, rule, what }];
}

/** @throws TurnlogError `INVALID_INPUT` */
export function checkEvery({ every = 1 }: VerifyOptions): void {
  if (Number.isSafeInteger(every) && every > 0) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `States are compared at every so many positions, a whole number from 1 on; got ${every}.`,
  );
}

/** The finding in an error of the log; any other error is thrown on. */
export function unreadable(error: unknown, next: number): Finding {
  if (!TurnlogError.isInstance(error) || !findings.has(error.code)) throw error;
  return { position: error.position ?? next, rule: "readable", what: error.message };
}
