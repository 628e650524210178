/** Verifies the log of one session against the laws. Reads only. */

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
  defined,
} from "../../events/index.ts";
import { linkOf, checkPosition } from "../../state/index.ts";
import { Inspection, type CheckedChain, type Finding } from "./inspection.ts";
import type { RedactedContent } from "./prompt-check.ts";
import { openStateCheck } from "./state-check.ts";

export interface VerifyOptions {
  /** The blobs to check. Default: those of the log; a log without blobs skips this check. */
  readonly blobs?: BlobStore;
  /**
   * Positions between two comparisons of a saved and loaded state with the fold. 1 checks every position.
   * Default: a sixteenth of the session.
   */
  readonly every?: number;
}

export interface VerifySessionOptions extends VerifyOptions {
  /**
   * The end of the hash chain, kept outside of the store: only with it can a chain be detected that was made
   * again or cut off at its end.
   */
  readonly chain?: ChainEnd;
}

export interface LogProblem extends Finding {
  readonly session: string;
}

/**
 * Result of {@link verifySession}.
 * @example
 * const { problems }: SessionVerification = await verifySession(log, "s-1");
 */
export interface SessionVerification {
  readonly session: string;
  readonly events: number;
  /** Prompts that were rebuilt and compared by digest. */
  readonly prompts: number;
  /** Prompts that cannot be compared: content was trimmed, or no prompt can contain it. Absent for 0. */
  readonly lostPrompts?: number;
  /** Number of redacted events, and of prompts that cannot be compared because of them. */
  readonly redacted?: RedactedContent;
  /** The end of the hash chain, if the session has one. */
  readonly chain?: CheckedChain;
  /** Empty if the log keeps every law. */
  readonly problems: readonly LogProblem[];
}

const findings: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "LOG_DAMAGED",
  "EVENT_INVALID",
  "EVENT_TOO_NEW",
  "KEY_MISSING",
  "KEY_WRONG",
]);

/** Codes that stand for one session where the error names it: its rows or its key cannot be read. */
const ofSession: ReadonlySet<TurnlogErrorCode> = new Set<TurnlogErrorCode>([
  "LOG_FAILED",
  "LOG_TOO_NEW",
]);

const fields = { blobs: implementation({ get: code }), every: z.unknown() };
export const verifySchema: z.ZodType = optionsOf<VerifyOptions>(fields, {});
const schema = optionsOf<VerifySessionOptions>({ ...fields, chain: implementation({}) }, {});

export async function verifySession(
  log: EventLog,
  session: string,
  options: VerifySessionOptions = {},
): Promise<SessionVerification> {
  check(schema, options, "verifySession", { name: "options", session });
  checkEvery(options);
  const inspection = new Inspection({ noted: options.chain });
  const problems: LogProblem[] = [];
  const add = (found: readonly Finding[]): void => {
    for (const finding of found) problems.push({ session, ...finding });
  };
  let prompts = 0;
  const blobs = options.blobs ?? log.blobs;
  try {
    await checkPosition(log, session);
    const last = await log.revision(session);
    const every = options.every ?? Math.ceil(last / 16);
    const states = await openStateCheck(log, session, { every, last });
    const link = await linkOf(log, session);
    for await (const event of log.read(session, { to: last })) {
      add(inspection.check(event));
      if (event.position === (link?.position ?? 0) + 1) add(forkFindings(event, link));
      const compared = states.check(event, () => inspection.state);
      if (compared !== undefined) add(await compared);
      if (event.type === "blob.stored" && blobs !== undefined)
        add(await blobFindings(event, blobs));
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
    ...defined({ redacted, chain }),
  };
  return { session, events: state.position, ...found, problems };
}

function forkFindings(event: SessionEvent, link: ForkPoint | undefined): readonly Finding[] {
  const { position, type } = event;
  const rule = "forks";
  if (link === undefined) {
    const what = "it is the first event, so there is nothing before it to fork";
    return type === "session.forked" ? [{ position, rule, what }] : [];
  }
  const from = type === "session.forked" ? event.data.from : undefined;
  if (from?.session === link.session && from.position === link.position) return [];
  const found = from === undefined ? type : `a fork of ${from.session} at ${from.position}`;
  const what = `the list of sessions says that it branches off ${link.session} at ${link.position}, but the event there is ${found}`;
  return [{ position, rule, what }];
}

async function blobFindings(
  { data, position }: SessionEvent<"blob.stored">,
  blobs: BlobStore,
): Promise<readonly Finding[]> {
  const rule = "blobs";
  try {
    let bytes = 0;
    for await (const chunk of blobs.get(data.sha256)) bytes += chunk.byteLength;
    if (bytes === data.bytes) return [];
    const what = `blob ${data.sha256} has ${bytes} bytes, but the event says ${data.bytes}`;
    return [{ position, rule, what }];
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    return [{ position, rule, what: error.message }];
  }
}

/** @throws TurnlogError `INVALID_INPUT` */
export function checkEvery({ every = 1 }: VerifyOptions): void {
  if (Number.isSafeInteger(every) && every > 0) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `\`every\` must be a whole number of positions from 1 on; got ${every}.`,
  );
}

/** A fault of the log as a finding. Throws any other error again. */
export function unreadable(error: unknown, next: number): Finding {
  if (!TurnlogError.isInstance(error)) throw error;
  const { code, session } = error;
  if (!findings.has(code) && (session === undefined || !ofSession.has(code))) throw error;
  return { position: error.position ?? next, rule: "readable", what: error.message };
}
