/** The session as its user holds it. The live actor behind it comes and goes; the handle stays good. */

import {
  byId,
  TurnlogError,
  type Delivery,
  type EventLog,
  type RecoveryPolicy,
} from "../events/index.ts";
import { acceptedAt, type QueuedMessage } from "../projections/index.ts";
import {
  addsNothing,
  answerEvent,
  answeredOtherwise,
  notWaiting,
  type ApprovalAnswer,
  type ApprovalRecorded,
  requestCancel,
  type SessionActor,
  createTurn,
  type Turn,
  outcomeOf,
  turnRemains,
  restOf,
  startOf,
} from "./session/index.ts";
import {
  type AttachmentOptions,
  recordOffloaded,
  heldInput,
  receiveInput,
  type HeldInput,
} from "../media/index.ts";
import {
  isAtRest,
  rerunPoint,
  approvalOfId,
  type Approval,
  diffSession,
  type SessionState,
  stateAt,
  viewOf,
  viewSession,
} from "../state/index.ts";
import type { Redacted, RedactionTarget, RedactOptions } from "../archive/index.ts";
import type { ForkOptions, Session } from "./session.ts";
import { assertSameMessage } from "./repeated-message.ts";

/** What the runtime lends to its sessions. */
export interface SessionHost {
  readonly log: EventLog;
  readonly newId: () => string;
  /** How files of messages are read. */
  readonly attachments: AttachmentOptions;
  /** Resolves when everything is loaded that a step needs. */
  ready(): Promise<void>;
  /** Makes a fork of what is in the log, and wakes it up. */
  fork(session: string, options: ForkOptions, recovery?: RecoveryPolicy): Promise<Session>;
  /** Puts the session away and redacts it. */
  redact(
    session: string,
    what: readonly RedactionTarget[],
    options: RedactOptions,
  ): Promise<Redacted>;
  /** Gives a session that is at rest the tools that MCP servers have now; absent where there are none. */
  readonly equip: ((actor: SessionActor) => Promise<void>) | undefined;
  /** The live actor, woken up from the log if need be. */
  actor(session: string): Promise<SessionActor>;
  /** Resolves with what `look` finds once it finds something; it looks after every event, at who runs the session then. */
  watch<Found>(look: (actor: SessionActor) => Found | undefined): Promise<Found>;
}

export function sessionHandle(id: string, host: SessionHost): Session {
  const { log } = host;

  /** The live actor of a session that is not closed: nothing is recorded after `session.closed`. */
  async function opened(command: string): Promise<SessionActor> {
    await host.ready();
    const actor = await host.actor(id);
    if (actor.state.machine.matches("closed")) throw actor.refusal(command, "it is closed");
    if (host.equip === undefined) return actor;
    await host.equip(actor);
    // It may have fallen asleep while servers were started.
    return await host.actor(id);
  }

  async function answer(
    approvalId: string,
    approved: boolean,
    said: ApprovalAnswer,
  ): Promise<ApprovalRecorded> {
    const command = approved ? "approve" : "deny";
    let actor = await host.actor(id);
    const found = (): Approval | undefined => approvalOfId(id, actor.state, approvalId);
    // One that was answered is told so in a closed session, too.
    if (!isAnswered(found())) actor = await opened(command);
    const approval = found();
    if (isAnswered(approval)) {
      const { answer: decision } = approval;
      if (!addsNothing(decision, approved, said)) throw answeredOtherwise(id, approval, decision);
      await actor.durable();
      return { status: "already-answered", approval };
    }
    if (approval?.status !== "waiting") {
      throw actor.refusal(command, notWaiting(id, actor.state, approvalId, approval));
    }
    actor.record(answerEvent(approval, approved, said));
    const answered = found() ?? approval;
    await actor.durable();
    return { status: "recorded", approval: answered };
  }

  function turnOf(messageId: string, queuePosition: number, queued: boolean): Turn {
    const seen = async <Found>(look: (state: SessionState) => Found | undefined): Promise<Found> =>
      await host.watch(({ state }) => look(state));
    return createTurn({
      session: id,
      messageId,
      queued,
      queuePosition,
      log,
      outcome: () => seen(outcomeOf(messageId)),
      start: () => seen(startOf(messageId)),
      rest: () => seen(restOf(id, messageId)),
    });
  }

  /** Sent again by a client that never got the answer. */
  async function sendAgain(
    input: HeldInput,
    messageId: string,
    delivery: Delivery | undefined,
  ): Promise<Turn> {
    let actor = await opened("accept messages");
    const position = acceptedAt(actor.state.queue, messageId) ?? actor.state.position;
    await actor.durable();
    const waitsFor = waiting(actor, messageId)?.delivery;
    const message = { id: messageId, input, delivery, position, waitsFor };
    await assertSameMessage(log, id, message, host.attachments);
    actor = await opened("accept messages");
    const queued = !actor.isIdle;
    if (waits(actor, messageId)) release(actor);
    await actor.durable();
    return turnOf(messageId, position, queued);
  }

  return {
    id,

    async send(given, { id: messageId = host.newId(), delivery } = {}) {
      const input = heldInput(id, given);
      const known = acceptedAt((await host.actor(id)).state.queue, messageId);
      if (known !== undefined) return await sendAgain(input, messageId, delivery);
      const said = await receiveInput(id, input, host.attachments);
      let actor = await opened("accept messages");
      const offloading = actor.blobs.input(said);
      using offloaded = offloading && (await offloading);
      // It may have been put away in the meantime, and nothing is recorded by who was.
      if (offloaded !== undefined) actor = await opened("accept messages");
      const { content = said, stored = [] } = offloaded ?? {};
      const queued = !actor.isIdle;
      // Somebody may have sent it while its files were read.
      if (acceptedAt(actor.state.queue, messageId) !== undefined)
        return await sendAgain(input, messageId, delivery);
      actor.blobs.assertRoomFor(stored);
      const data = { id: messageId, content, delivery: delivery ?? "follow-up" };
      recordOffloaded(actor, stored, { type: "message.queued", data });
      const position = acceptedAt(actor.state.queue, messageId) ?? actor.state.position;
      await actor.durable();
      return turnOf(messageId, position, queued);
    },

    async turn(messageId) {
      const actor = await host.actor(id);
      const position = acceptedAt(actor.state.queue, messageId);
      if (position !== undefined) return turnOf(messageId, position, waits(actor, messageId));
      throw new TurnlogError(
        "INVALID_INPUT",
        `Session ${id} never accepted a message ${messageId}. Send one, or name one of \`message.queued\`.`,
        { session: id },
      );
    },

    async cancel(options = {}) {
      const actor = await host.actor(id);
      const requested = requestCancel(actor, options);
      const remains = await host.watch(({ state }) =>
        state.machine.matches("idle") || state.machine.matches("closed")
          ? turnRemains(state, requested.turn)
          : undefined,
      );
      return { ...requested, ...remains };
    },

    approve: (approvalId, said = {}) => answer(approvalId, true, said),
    deny: (approvalId, said = {}) => answer(approvalId, false, said),

    async forgetApproval(toolName) {
      const actor = await opened("forgetApproval");
      const { always } = actor.state.approvals;
      if (byId(always, toolName) === undefined) {
        const others = Object.keys(always);
        const about = others.length === 0 ? "" : `, but about ${others.join(", ")}`;
        const why = `nothing was answered for good about ${JSON.stringify(toolName)}${about}`;
        throw actor.refusal("forgetApproval", why);
      }
      actor.record({ type: "session.approval-forgotten", data: { toolName } });
      await actor.durable();
    },

    async withdraw(messageId, reason) {
      const actor = await opened("withdraw");
      findWaiting(actor, "withdraw", messageId);
      actor.record({
        type: "message.withdrawn",
        data: { ids: [messageId], ...(reason === undefined ? {} : { reason }) },
      });
      await actor.durable();
    },

    async reschedule(messageId, delivery) {
      const actor = await opened("reschedule");
      // Asked for twice, it is moved once.
      if (findWaiting(actor, "reschedule", messageId).delivery !== delivery) {
        actor.record({ type: "message.rescheduled", data: { id: messageId, delivery } });
      }
      await actor.durable();
    },

    async resume() {
      const actor = await opened("resume");
      release(actor);
      await actor.durable();
    },

    async compact(strategy) {
      const actor = await opened("compact");
      const from = actor.state.position + 1;
      actor.compact(strategy);
      // Not until it is idle: what came meanwhile may start a turn at once.
      await host.watch(({ state }) => !state.machine.matches("compacting") || undefined);
      for await (const event of log.read(id, { from })) {
        if (event.type === "context.compacted" || event.type === "context.compaction-rejected") {
          return event;
        }
      }
      throw new TurnlogError("SESSION_FAILED", `The compaction of session ${id} left no trace.`, {
        session: id,
      });
    },

    async restore(position) {
      const actor = await opened("restore");
      actor.restore(position);
      await actor.durable();
    },

    async preview({ compact, at } = {}) {
      await host.ready();
      const actor = await host.actor(id);
      const { state } = actor;
      await actor.durable();
      if (at === undefined) return actor.prompts.preview(state, compact);
      return actor.prompts.preview(await stateAt(log, id, at), compact);
    },

    async context({ at } = {}) {
      await host.ready();
      const actor = await host.actor(id);
      const { state } = actor;
      await actor.durable();
      if (at === undefined) return actor.prompts.figures(state);
      return actor.prompts.figures(await stateAt(log, id, at));
    },

    async view() {
      const actor = await host.actor(id);
      // What is recorded while this waits may not be in the log when it is looked at.
      const { state } = actor;
      await actor.durable();
      return viewOf(id, state);
    },

    async fork(options = {}) {
      await (await host.actor(id)).durable();
      return await host.fork(id, options);
    },

    async rerun({ at, step, ...changes } = {}) {
      await (await host.actor(id)).durable();
      const point = await rerunPoint(log, id, { at, step });
      const session = await host.fork(id, { ...changes, at: point.at }, "continue");
      return { session, turn: await session.turn(point.messageId) };
    },

    redact: (what, options = {}) => host.redact(id, isSeveral(what) ? what : [what], options),
    at: (position) => viewSession(log, id, position),
    diff: (before, after) => diffSession(log, id, before, after),
    events: (options) => log.subscribe(id, options),
    idle: async () => {
      await host.watch((actor) => actor.isIdle || undefined);
    },

    async atRest() {
      return viewOf(id, await host.watch(({ state }) => (isAtRest(state) ? state : undefined)));
    },

    async close(reason) {
      const actor = await host.actor(id);
      if (actor.state.machine.matches("closed")) return;
      if (!actor.isIdle) throw actor.refusal("close", "it is running a turn; cancel it or wait");
      actor.record({ type: "session.closed", data: reason === undefined ? {} : { reason } });
      await actor.durable();
    },
  };
}

function isSeveral(
  what: RedactionTarget | readonly RedactionTarget[],
): what is readonly RedactionTarget[] {
  return Array.isArray(what);
}

function isAnswered(
  approval: Approval | undefined,
): approval is Extract<Approval, { readonly answer: unknown }> {
  return approval !== undefined && "answer" in approval;
}

function waiting(actor: SessionActor, messageId: string): QueuedMessage | undefined {
  return actor.state.queue.waiting.find((message) => message.id === messageId);
}

function waits(actor: SessionActor, messageId: string): boolean {
  return waiting(actor, messageId) !== undefined;
}

/** The message, as long as it was not delivered; refuses the command otherwise. */
function findWaiting(actor: SessionActor, command: string, messageId: string): QueuedMessage {
  const found = waiting(actor, messageId);
  if (found !== undefined) return found;
  throw actor.refusal(command, `message ${messageId} does not wait`);
}

function release(actor: SessionActor): void {
  const { held, queue } = actor.state.machine.context;
  if (held && queue.length > 0) actor.record({ type: "session.resumed", data: {} });
}
