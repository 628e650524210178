/** Answers of people and clients to a session: the commands `approve`, `deny`, `answerCall` and `allow`. */

import { byId, type EventLog, isElsewhere } from "../../events/index.ts";
import { recordOffloaded } from "../../media/index.ts";
import { approvalOfId, type Approval, isIdle } from "../../state/index.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import {
  allow,
  answerApproval,
  isAnswered,
  type ApprovalAnswer,
  type ApprovalRecorded,
  answerCall,
  callToAnswer,
  refusal,
} from "../../commands/index.ts";
import type { SessionActor } from "../session/actor.ts";
import type { Session } from "../api/session.ts";
import type { RewindHost } from "./rewinds.ts";
import { clientEnding } from "../tools/call-ending.ts";
import { endAbandoned, isAbandoned } from "../live/sub-agents.ts";

interface AnswersHost extends Pick<RewindHost, "log" | "live" | "openActor" | "executed"> {
  /** Of the command. */
  readonly eventId: string | undefined;
}

export function sessionAnswers(
  id: string,
  { log, live, openActor, executed, eventId }: AnswersHost,
): Pick<Session, "approve" | "deny" | "answerCall" | "allow"> {
  /** The actor of a session that waits for an answer. */
  async function waitingActor(command: string): Promise<SessionActor> {
    await wakeCaller(log, live, id);
    return await openActor(command);
  }

  async function answer(
    approvalId: string,
    approved: boolean,
    given: ApprovalAnswer,
  ): Promise<ApprovalRecorded> {
    let actor = await live.actor(id);
    const find = (): Approval | undefined => approvalOfId(id, actor.state, approvalId);
    // A repeated answer is accepted in a closed session, too.
    if (!isAnswered(find())) actor = await waitingActor(approved ? "approve" : "deny");
    const { approval: before, event } = answerApproval(actor, approvalId, approved, given);
    if (
      event !== undefined &&
      approved &&
      byId(actor.agent.tools ?? {}, before.toolName) === undefined
    )
      throw refusal(
        actor,
        "approve",
        `the agent of this process has no tool ${before.toolName}. Nothing was recorded: the call still waits. Approve it where its agent runs`,
      );
    if (event !== undefined) actor.record(event);
    const approval = find() ?? before;
    await actor.durable();
    return { status: event === undefined ? "already-answered" : "recorded", approval };
  }

  return {
    approve: (approvalId, given = {}) => answer(approvalId, true, given),
    deny: (approvalId, given = {}) => answer(approvalId, false, given),

    async allow(more) {
      if ((await executed()) !== undefined) return;
      const actor = await waitingActor("allow");
      actor.record(allow(actor, more), eventId);
      await actor.durable();
    },

    async answerCall(requested, given) {
      const { request } = callToAnswer(await live.actor(id), requested);
      const { requestId } = request;
      // A repeated answer is accepted in a closed session, too.
      const actorNow = (): Promise<SessionActor> =>
        request.status === "waiting" ? waitingActor("answerCall") : live.actor(id);
      let actor = await actorNow();
      using ending = await clientEnding(actor, callToAnswer(actor, requestId), given);
      await actor.outlast(ending.content);
      // The actor may have been passivated since, and a passivated actor records nothing.
      actor = await actorNow();
      const event = answerCall(actor, callToAnswer(actor, requestId), ending.content);
      if (event !== undefined) recordOffloaded(actor, ending.stored, event);
      const answered = callToAnswer(actor, requestId);
      await actor.durable();
      const status = event === undefined ? "already-answered" : "recorded";
      return { status, request: answered.request };
    },
  };
}

// Opens the sessions whose calls wait for a sub-agent, before somebody answers it.

/**
 * Recovers the session whose call waits, if that has not happened yet. Either it continues, or its call has
 * ended: then the turn of the sub-agent is cancelled, and the answer is too late.
 */
async function wakeCaller(log: EventLog, live: LiveSessions, session: string): Promise<void> {
  const { actor } = await live.activate(session);
  const { summary, machine } = actor.state;
  const caller = summary.parent?.session;
  if (caller === undefined || isIdle(actor.state) || machine.context.turn > 1) return;
  if ((await log.revision(caller)) === 0) return;
  try {
    await wakeCaller(log, live, caller);
  } catch (error) {
    // The process that runs it has recovered it.
    if (!isElsewhere(error)) throw error;
  }
  if (!(await isAbandoned(log, session, actor.state, (id) => live.state(id)))) return;
  endAbandoned(actor);
  await live.watch(session, ({ isIdle: isOver }) => isOver || undefined);
}
