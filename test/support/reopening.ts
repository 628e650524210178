/**
 * Opens a session on the log that a dead process left, lets it recover, runs a whole turn, and says
 * what was wrong on the way. Used after real kills and at every position of recorded sessions.
 */

import { createRuntime, type Agent, type EventLog, type Session } from "../../src/public/index.ts";
import type { RecoveryPolicy, SessionEvent } from "../../src/events/index.ts";
import { callRecords } from "./call-problems.ts";
import { clerk, type Clerk } from "./clerk.ts";
import { lawProblems } from "./law-problems.ts";
import { storedEvents } from "./replay.ts";
import { viewProblems } from "./view-problems.ts";

export interface Reopening {
  readonly log: EventLog;
  readonly session: string;
  readonly recovery: RecoveryPolicy;
  readonly agent: Agent;
}

export async function reopeningProblems(opening: Reopening): Promise<readonly string[]> {
  const left = await storedEvents(opening.log, opening.session);
  return [...(await reopened(opening, left)), ...(await openedAgain(opening))];
}

async function reopened(
  opening: Reopening,
  left: readonly SessionEvent[],
): Promise<readonly string[]> {
  const { log, recovery, agent } = opening;
  await using runtime = await createRuntime({ log, recovery, agent, graceMs: 50 });
  const session = await runtime.session(opening.session);
  await using answering = clerk(session);
  await untilNothingWaits(session, answering);
  const recovered = await storedEvents(log, session.id);
  const problems = [
    ...(await viewProblems(session, log)),
    ...lawProblems(recovered, { after: left.length }),
    ...settledProblems(left, recovered, opening),
  ];
  const turn = await session.send("Are you still there?");
  const { finishReason } = await turn.result;
  const final = await storedEvents(log, session.id);
  const { queue } = await session.view();
  return [
    ...problems,
    ...(finishReason === "stop" ? [] : [`the new turn ended with ${finishReason}`]),
    ...lawProblems(final, { after: recovered.length }),
    ...queue.map(({ id }) => `message ${id} still waits after a whole turn`),
    ...(await viewProblems(session, log)),
  ];
}

/** Idle for good: the messages for later had their turns. */
async function untilNothingWaits(session: Session, answering: Clerk): Promise<void> {
  await answering.idle();
  const { queue, position } = await session.view();
  if (queue.every(({ notBefore }) => notBefore === undefined)) return;
  for await (const { type } of session.events({ from: position + 1 }))
    if (type === "turn.ended") break;
  await untilNothingWaits(session, answering);
}

/**
 * Law 6: what the dead process had started is unknown, or is run again where its tool allows it;
 * what it had not started is run only by policy.
 */
function settledProblems(
  left: readonly SessionEvent[],
  recovered: readonly SessionEvent[],
  { recovery, agent }: Pick<Reopening, "recovery" | "agent">,
): readonly string[] {
  const after = callRecords(recovered);
  const recovers = recovered.slice(left.length).some((event) => event.type === "session.recovered");
  return callRecords(left).flatMap(({ step, callId, call, started, ends }) => {
    if (ends.length > 0) return [];
    const end = after.find((one) => one.call.position === call.position)?.ends[0]?.type;
    const name = `call ${callId} of step ${step}`;
    if (started.length > 0) {
      // A person was asked whether it is to be run again, and answers for it.
      if (isAsked(left, step, callId, started.at(-1)?.position)) return [];
      const isSubAgent = started.some(({ data }) => data.child !== undefined);
      const mayRepeat = agent.toolPolicies?.[call.data.toolName]?.idempotent === true || isSubAgent;
      const isOver = end === "tool.succeeded" || (isSubAgent && end === "tool.failed");
      const isRepeated = mayRepeat && recovery === "continue" && isOver;
      return end === "tool.unknown" || isRepeated
        ? []
        : [`${name} had been started and is ${end ?? "open"}`];
    }
    // A turn that only waited for approvals has nothing to recover from: it continues.
    if (recovery === "continue" || !recovers) return [];
    return end === "tool.skipped" || end === "tool.failed" || end === "tool.denied"
      ? []
      : [`${name} had not been started and is ${end ?? "open"}, though recovery stops`];
  });
}

/** Whether approval was asked for again after a call had been started. */
function isAsked(
  events: readonly SessionEvent[],
  step: number,
  callId: string,
  start = 0,
): boolean {
  return events
    .slice(start)
    .some(
      ({ type, data }) =>
        type === "tool.approval-requested" && data.step === step && data.callId === callId,
    );
}

/** A session that came to rest has nothing to recover from. */
async function openedAgain({
  log,
  session,
  recovery,
  agent,
}: Reopening): Promise<readonly string[]> {
  const before = await log.revision(session);
  await using runtime = await createRuntime({ log, recovery, agent });
  const { position } = await (await runtime.session(session)).view();
  return position === before ? [] : [`opening it once more recorded ${position - before} events`];
}
