/**
 * The session handle: implements {@link Session} on the live actor, which may be passivated and activated
 * between two calls. `session/commands.ts` decides; this file records the events and waits until they are
 * durable.
 */

import type { OutputInterface } from "ai";
import {
  ownCopy,
  TurnlogError,
  type DefinedEvents,
  type EventBody,
  type EventLog,
  type JsonObject,
  type RecoveryPolicy,
  type SessionEvent,
  type EventSchemas,
} from "../../events/index.ts";
import { acceptedAt, type Projection } from "../../projections/index.ts";
import {
  cancel,
  type CancelOptions,
  type Cancellation,
  type CommandTarget,
} from "../session/commands.ts";
import * as commands from "../session/commands.ts";
import { commandEventId, executedAt } from "../session/command-outcome.ts";
import { createTurn, type Turn } from "../session/turn.ts";
import { lastRun } from "../session/rewind.ts";
import { outcomeOf, restOf, startOf, turnRemains } from "../session/turn-outcome.ts";
import type { SessionActor } from "../session/actor.ts";
import type { Watched } from "../session/watchers.ts";
import type { AttachmentOptions } from "../../media/index.ts";
import {
  isAtRest,
  rerunPoint,
  diffSession,
  stateAt,
  type SessionState,
  subAgentsOf,
  viewOf,
  viewSession,
  checkPosition,
  projectedAt,
  projectedFrom,
  type ProjectionReader,
  type Projected,
} from "../../state/index.ts";
import type { Redacted, RedactionTarget, RedactOptions } from "../../archive/index.ts";
import type { AgentChanges, ForkOptions } from "../api/session-options.ts";
import { equippedActor, readyActor } from "../live/ready-actor.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import type { Session } from "../api/session.ts";
import { sessionRewinds, type TurnPlace } from "./rewinds.ts";
import { sessionAppend } from "./append.ts";
import { sessionAnswers } from "./answers.ts";
import { sessionSending } from "./sending.ts";
import { scheduleOf } from "../live/message-schedule.ts";
import type { ProgramEvents } from "../api/program-events.ts";

export interface SessionHost {
  readonly log: EventLog;
  /** The id of the command that this handle executes; another process may have executed it before it died. */
  readonly command: string | undefined;
  readonly newId: () => string;
  readonly clock: () => number;
  readonly attachments: AttachmentOptions;
  readonly live: LiveSessions;
  /** The events of the user's program. */
  readonly events: DefinedEvents | undefined;
  readonly onWarning: (error: TurnlogError) => void;
  /** Forks the stored session and activates the fork. */
  fork(session: string, options: ForkOptions, recovery?: RecoveryPolicy): Promise<Session>;
  /** Checks metadata by the user's schema. */
  assertMetadata(metadata: JsonObject): Promise<void>;
  /** Activates the session again with a changed agent. */
  configure(session: string, changes: AgentChanges): Promise<void>;
  /** Passivates the session and redacts it. */
  redact(
    session: string,
    what: readonly RedactionTarget[],
    options: RedactOptions,
  ): Promise<Redacted>;
}

export function sessionHandle(id: string, host: SessionHost): Session {
  const { log, live, command: asked } = host;
  const eventId = commandEventId(asked);

  /** The live actor of a session that is not closed, ready for a step: `known`, while it lasts. */
  async function openActor(command: string, known?: SessionActor): Promise<SessionActor> {
    const actor = await readyActor(live, id, known);
    commands.assertNotClosed(actor, command);
    return equippedActor(live, actor);
  }

  type Decide = (target: CommandTarget) => readonly EventBody[];

  /** Records the events that a command becomes, and waits until they are durable. */
  async function execute(command: string, decide: Decide): Promise<void> {
    if ((await executed()) !== undefined) return;
    const actor = await openActor(command);
    recordAll(actor, decide(actor));
    await actor.durable();
  }

  /** The same, for commands that no step follows. */
  async function note(decide: Decide): Promise<void> {
    if ((await executed()) !== undefined) return;
    const actor = await live.actor(id);
    recordAll(actor, decide(actor));
    await actor.durable();
  }

  function recordAll(actor: SessionActor, events: readonly EventBody[]): void {
    for (const [index, body] of events.entries())
      actor.record(body, index === events.length - 1 ? eventId : undefined);
  }

  /** The position of the last event of the command of this handle, if a process executed it. */
  async function executed(): Promise<number | undefined> {
    if (asked === undefined) return undefined;
    const actor = await live.actor(id);
    const position = executedAt(actor.state, asked);
    if (position !== undefined) await actor.durable();
    return position;
  }

  function turnOf<OUTPUT = unknown, PARTIAL = unknown>(
    messageId: string,
    { queuePosition, from = queuePosition, queued }: TurnPlace,
    output?: OutputInterface<OUTPUT, PARTIAL>,
  ): Turn<OUTPUT, PARTIAL> {
    const seen = <Found>(look: (state: SessionState) => Found | undefined): Promise<Found> =>
      live.watch(id, ({ state }) => look(state));
    return createTurn<OUTPUT, PARTIAL>({
      session: id,
      messageId,
      queued,
      queuePosition,
      from,
      log,
      output,
      agentOutput: async () => (await live.actor(id)).agent.output,
      outcome: () => seen(outcomeOf(messageId)),
      start: () => seen(startOf(messageId)),
      replaced: () => replaced(messageId, from),
      rest: () => seen(restOf(id, messageId)),
    });
  }

  const { edit, replaced, ...session } = sessionRewinds({
    id,
    log,
    live,
    openActor,
    turnOf,
    command: asked,
    executed,
  });

  async function cancelNow(options: CancelOptions): Promise<Cancellation["cancelled"]> {
    const actor = await live.actor(id);
    const { events, cancelled } = cancel(actor.state, options);
    recordAll(actor, events);
    return cancelled;
  }

  /** What the command cancelled, if a process executed it. */
  async function cancelledBefore(
    options: CancelOptions,
  ): Promise<Cancellation["cancelled"] | undefined> {
    const done = await executed();
    if (done === undefined) return undefined;
    const { cancelled } = cancel(await stateAt(log, id, done - 1), options);
    const [before] = options.withdraw === true ? await log.readAt(id, [done - 1]) : [];
    const withdrawn = before?.type === "message.withdrawn" ? before.data.ids : cancelled.withdrawn;
    return { ...cancelled, withdrawn };
  }

  async function* subAgentEvents(
    child: string,
    options: Parameters<EventLog["subscribe"]>[1],
  ): AsyncGenerator<SessionEvent> {
    const { toolCalls } = await live.state(id);
    const isKnown = [...toolCalls.open, ...toolCalls.ended].some((call) => call.child === child);
    if (!isKnown) throw noSubAgent(id, child);
    yield* log.subscribe(child, options);
  }

  return {
    id,

    ...session,
    ...sessionSending(id, { ...host, openActor, turnOf, edit }),

    async turn(messageId) {
      const state = await live.state(id);
      const position = acceptedAt(state.queue, messageId);
      if (position !== undefined) {
        const queued = commands.waitingMessage({ session: id, state }, messageId) !== undefined;
        const from = Math.max(position, lastRun(state, messageId));
        return turnOf(messageId, { queuePosition: position, from, queued });
      }
      throw new TurnlogError(
        "INVALID_INPUT",
        `Session ${id} never accepted a message ${messageId}. Send one, or name one of \`message.queued\`.`,
        { session: id },
      );
    },

    async cancel(options = {}) {
      const cancelled = (await cancelledBefore(options)) ?? (await cancelNow(options));
      const remains = await live.watch(id, ({ state }) =>
        state.machine.matches("idle") || state.machine.matches("closed")
          ? turnRemains(state, cancelled.turn)
          : undefined,
      );
      return { ...cancelled, ...remains };
    },

    ...sessionAnswers(id, host, openActor),
    ...sessionContext(id, { log, live, openActor, command: asked, executed }),
    ...sessionAppend(id, host),
    ...sessionProjected(id, host),

    forgetApproval: (toolName) =>
      execute("forgetApproval", (target) => commands.forgetApproval(target, toolName)),

    withdraw: (messageId, options) =>
      execute("withdraw", (target) => commands.withdraw(target, messageId, options)),

    reschedule: (messageId, to) =>
      execute("reschedule", (target) =>
        commands.reschedule(target, messageId, scheduleOf(to, host.clock())),
      ),

    resume: () => execute("resume", commands.resume),

    restore: (position) => execute("restore", (target) => commands.restore(target, position)),

    async view() {
      return viewOf(id, await live.state(id));
    },

    async fork(options = {}) {
      await live.state(id);
      return await host.fork(id, options);
    },

    async rerun({ position, step, ...changes } = {}) {
      await live.state(id);
      const { position: last, messageId } = await rerunPoint(log, id, { position, step });
      const session = await host.fork(id, { ...changes, position: last }, "continue");
      return { session, turn: await session.turn(messageId), position: last };
    },

    configure: (changes) => host.configure(id, changes),
    async setMetadata(metadata) {
      const own = ownCopy(metadata);
      await host.assertMetadata(own);
      await note((target) => commands.setMetadata(target, own));
    },
    redact: (what, options = {}) => host.redact(id, isSeveral(what) ? what : [what], options),
    at: (position) => viewSession(log, id, position),
    diff: (before, after) => diffSession(log, id, before, after),
    events: ({ subAgent, ...options } = {}) =>
      subAgent === undefined ? log.subscribe(id, options) : subAgentEvents(subAgent, options),
    async subAgents() {
      await live.state(id);
      return await subAgentsOf(log, id);
    },
    idle: async () => {
      await live.watch(id, ({ isIdle }) => isIdle || undefined);
    },

    async atRest({ signal } = {}) {
      const look = ({ state }: Watched): SessionState | undefined =>
        isAtRest(state) ? state : undefined;
      return viewOf(id, await live.watch(id, look, signal));
    },

    close: (reason) => note((target) => commands.close(target, reason)),
  };
}

function noSubAgent(session: string, given: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `Session ${given} is no sub-agent of session ${session}. \`session.subAgents()\` lists the existing ones.`,
    { session, details: { option: "options.subAgent" } },
  );
}

function isSeveral(
  what: RedactionTarget | readonly RedactionTarget[],
): what is readonly RedactionTarget[] {
  return Array.isArray(what);
}

// `Session.project` and `Session.follow`: a user's projections of a live session.

interface ProjectionHost {
  readonly log: EventLog;
  readonly live: LiveSessions;
  readonly onWarning: (error: TurnlogError) => void;
}

function sessionProjected(
  session: string,
  { log, live, onWarning }: ProjectionHost,
): Pick<ProgramEvents<EventSchemas>, "project" | "follow"> {
  const reader: ProjectionReader = {
    log,
    session,
    branches: async () => (await live.state(session)).branches,
    onWarning,
  };

  async function newest<State extends object>(
    projection: Projection<State>,
  ): Promise<Projected<State>> {
    const { position } = await live.state(session);
    return await projectedAt(reader, projection, position, true);
  }

  return {
    async project(projection, { position } = {}) {
      if (position === undefined) return await newest(projection);
      await live.state(session);
      await checkPosition(log, session, position);
      return await projectedAt(reader, projection, position, false);
    },

    async *follow(projection, { signal } = {}) {
      if (signal?.aborted === true) return;
      yield* projectedFrom(reader, projection, await newest(projection), signal);
    },
  };
}

// The methods of a session on its context: its figures, now or earlier, previews, and compaction on request.

interface ContextHost {
  readonly log: EventLog;
  readonly live: LiveSessions;
  /** The live actor of a session that is not closed. */
  readonly openActor: (command: string) => Promise<SessionActor>;
  readonly command: string | undefined;
  readonly executed: () => Promise<number | undefined>;
}

function sessionContext(
  id: string,
  { log, live, openActor, command, executed }: ContextHost,
): Pick<Session, "compact" | "preview" | "context"> {
  return {
    async compact(strategy, options) {
      let from = await executed();
      if (from === undefined) {
        const actor = await openActor("compact");
        from = actor.state.position + 1;
        commands.assertIdle(actor, "compact");
        actor.prompts.request(strategy, options, commandEventId(command));
      }
      // Not until the session is idle: a queued message may start a turn at once.
      await live.watch(id, ({ state }) => !state.machine.matches("compacting") || undefined);
      for await (const event of log.read(id, { from })) {
        if (event.type === "context.compacted" || event.type === "context.compaction-rejected") {
          return event;
        }
      }
      throw new TurnlogError(
        "SESSION_FAILED",
        `The compaction of session ${id} left no event in its log.`,
        {
          session: id,
        },
      );
    },

    async preview({ compact, position } = {}) {
      const actor = await readyActor(live, id);
      const { state } = actor;
      await actor.durable();
      if (position === undefined) return actor.prompts.preview(state, compact);
      return actor.prompts.preview(await stateAt(log, id, position), compact);
    },

    async context({ position } = {}) {
      const actor = await readyActor(live, id);
      const { state } = actor;
      await actor.durable();
      if (position === undefined) return actor.prompts.figures(state);
      return actor.prompts.figures(await stateAt(log, id, position));
    },
  };
}
