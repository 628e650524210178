/**
 * The right of this process to run a session, or to change one that no process runs. The process takes it and
 * gives it back to the other processes of a log, even if the store is unreachable at that moment.
 */

import {
  elsewhere,
  oneProcess,
  TurnlogError,
  type Claim,
  type EventLog,
} from "../../events/index.ts";
import { isAtRest } from "../../state/index.ts";
import type { Background } from "../../shared/index.ts";
import type { SessionActor } from "../session/actor.ts";

/** @throws TurnlogError `SESSION_ELSEWHERE` */
export async function claimOf(log: EventLog, session: string): Promise<Claim> {
  const claim = await (log.ownership ?? oneProcess).claim(session);
  if (claim !== undefined) return claim;
  throw elsewhere(session);
}

/**
 * Runs a change while no process can take the session. @throws TurnlogError `SESSION_ELSEWHERE`
 * @param release - Gives the session back. Default: its failure is one of the change.
 */
export async function whileClaimed<Result>(
  log: EventLog,
  session: string,
  change: () => Promise<Result>,
  release: (claim: Claim) => Promise<void> = (claim) => claim.release(),
): Promise<Result> {
  const claim = await claimOf(log, session);
  try {
    return await change();
  } finally {
    await release(claim);
  }
}

/** Ends a claim. Resolves after the first try and never rejects: if it fails, it is tried again in the background. */
export async function giveBack(
  session: string,
  claim: Claim,
  background: Background,
  unfinished = false,
): Promise<void> {
  const release = (): Promise<void> => claim.release({ unfinished });
  try {
    await release();
  } catch (error) {
    if (background.isClosed) return background.warn(notGivenBack(session, error));
    void background.run(release, (cause) => notGivenBack(session, cause));
  }
}

/** Gives the session of an actor back once its events are written. */
export async function release(
  actor: SessionActor,
  claim: Claim,
  background: Background,
): Promise<void> {
  await actor.settled();
  // The log may lack the end of a turn that an actor had reached when it failed.
  const unfinished = actor.failure !== undefined || !isAtRest(actor.state);
  await giveBack(actor.session, claim, background, unfinished);
}

function notGivenBack(session: string, cause: unknown): TurnlogError {
  return new TurnlogError(
    "LOG_FAILED",
    `Session ${session} could not be released: other processes cannot run it until that works or this process ends.`,
    { session, cause },
  );
}
