/**
 * Carries out the commands of a session on its live actor, which may be passivated and activated between two calls.
 * The catalogue decides; this file records the events and waits until they are durable.
 */

import type { OutputInterface } from "ai";
import {
  TurnlogError,
  type DefinedEvents,
  type EventBody,
  type EventLog,
  type RecoveryPolicy,
  type SessionEvent,
  type EventSchemas,
  checkedAppData,
  isAppType,
  isRedacted,
  type AppEventType,
} from "../../events/index.ts";
import { acceptedAt, type Projection, appendedAt } from "../../projections/index.ts";
import {
  assertIdle,
  assertNotClosed,
  cancel,
  lastRun,
  waitingMessage,
  type AgentChanges,
  type Cancellation,
  type CancelOptions,
  type CarriedBy,
  type Command,
  type DeletionOptions,
  type ForkOptions,
  type Preparing,
} from "../../commands/index.ts";
import { commandEventId, executedAt } from "../elsewhere/forwarded-commands.ts";
import { createTurn, type Turn } from "../session/turn.ts";
import { outcomeOf, restOf, startOf, turnRemains } from "../session/turn-outcome.ts";
import type { SessionActor } from "../session/actor.ts";
import type { Watched } from "../session/watchers.ts";
import type { Attaching, DeletedWithBlobs } from "../../media/index.ts";
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
import { equippedActor, readyActor } from "../live/ready-actor.ts";
import type { LiveSessions } from "../live/live-sessions.ts";
import type { Session, ProgramEvents } from "../api/session.ts";
import { sessionRewinds, type RewindHost, type TurnPlace } from "./rewinds.ts";
import { sessionAnswers } from "./answers.ts";
import { sessionSending } from "./sending.ts";
import { isDeepStrictEqual } from "node:util";
import { nearestName } from "../../validation/index.ts";

export interface SessionHost extends Preparing {
  readonly log: EventLog;
  readonly newId: () => string;
  readonly clock: () => number;
  readonly attachments: Attaching;
  readonly live: LiveSessions;
  /** The events of the user's program. */
  readonly events: DefinedEvents | undefined;
  readonly onWarning: (error: TurnlogError) => void;
  /** The session's agent, as this process has it. */
  agent(): Promise<SessionActor["agent"]>;
  /** Forks the stored session and activates the fork. */
  fork(session: string, options: ForkOptions, recovery?: RecoveryPolicy): Promise<Session>;
  /** Activates the session again with a changed agent. */
  changeAgent(session: string, changes: AgentChanges, command: string): Promise<void>;
  /** Passivates the session and deletes it. */
  delete(session: string, options: DeletionOptions): Promise<DeletedWithBlobs>;
  /** Passivates the session and redacts it. */
  redact(
    session: string,
    what: readonly RedactionTarget[],
    options: RedactOptions,
  ): Promise<Redacted>;
}

/** Carries out a checked command, or a reading one; the answer is that of the session's method. */
export type Execute = (command: Command, args: readonly unknown[]) => unknown;

/** @param asked - The id of a command: another process may have executed it before it died. */
export function sessionExecution(id: string, host: SessionHost, asked?: string): Execute {
  const { log, live } = host;
  const eventId = commandEventId(asked);

  /** The live actor of a session that is not closed, ready for a step: `known`, while it lasts. */
  async function openActor(command: string, known?: SessionActor): Promise<SessionActor> {
    const actor = await readyActor(live, id, known);
    assertNotClosed(actor, command);
    return equippedActor(live, actor);
  }

  /** Records the events that a command becomes, and waits until they are durable. */
  async function record(
    name: string,
    { on, decide, prepare }: CarriedBy<"events">,
    args: readonly unknown[],
  ): Promise<void> {
    await prepare?.(host, ...args);
    if ((await executed()) !== undefined) return;
    const actor = await (on === "open" ? openActor(name) : live.actor(id));
    const { session, state } = actor;
    recordAll(actor, decide({ session, state, now: host.clock() }, ...args));
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
      agentOutput: async () => (await host.agent()).output,
      outcome: () => seen(outcomeOf(messageId)),
      start: () => seen(startOf(messageId)),
      replaced: () => replaced(messageId, from),
      rest: () => seen(restOf(id, messageId)),
    });
  }

  const { move, edit, replaced, ...heads } = sessionRewinds({
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

  const own = {
    ...heads,
    ...sessionSending(id, { ...host, openActor, turnOf, edit }),

    async turn(messageId) {
      const state = await live.state(id);
      const position = acceptedAt(state.queue, messageId);
      if (position !== undefined) {
        const queued = waitingMessage({ session: id, state }, messageId) !== undefined;
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

    ...sessionAnswers(id, { log, live, openActor, executed, eventId }),
    ...sessionContext(id, { log, live, openActor, command: asked, executed }),
    ...sessionAppend(id, host),
    ...sessionProjected(id, host),

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

    configure: (changes) => host.changeAgent(id, changes, "configure"),
    delete: (options: DeletionOptions = {}) => host.delete(id, options),
    redact: (what, options = {}) => host.redact(id, [what].flat(), options),
    at: (position) => viewSession(log, id, position),
    diff: (before, after) => diffSession(log, id, before, after),
    events: ({ subAgent, ...options } = {}) =>
      subAgent === undefined ? log.subscribe(id, options) : subAgentEvents(subAgent, options),
    async subAgents() {
      const actor = await readyActor(live, id);
      await actor.durable();
      return await subAgentsOf(log, id, actor.prompts.known(actor.state));
    },
    idle: async () => {
      await live.watch(id, ({ isIdle }) => isIdle || undefined);
    },

    async atRest({ signal } = {}) {
      const look = ({ state }: Watched): SessionState | undefined =>
        isAtRest(state) ? state : undefined;
      return viewOf(id, await live.watch(id, look, signal));
    },
  } satisfies Partial<Session> & Record<"delete", unknown>;

  return (command, args) => {
    const { name, carried } = command;
    switch (carried.by) {
      case "events":
        return record(name, carried, args);
      case "move":
        return move(name, carried.seen(...args), (target) => carried.decide(target, ...args));
      case "runtime": {
        const method: unknown = Reflect.get(own, name);
        if (typeof method === "function") {
          const answer: unknown = Reflect.apply(method, undefined, args);
          return answer;
        }
        throw new Error(`The runtime has no method for the command ${name}.`);
      }
    }
  };
}

function noSubAgent(session: string, given: string): TurnlogError {
  return new TurnlogError(
    "INVALID_INPUT",
    `Session ${given} is no sub-agent of session ${session}. \`session.subAgents()\` lists the existing ones.`,
    { session, details: { option: "options.subAgent" } },
  );
}

// `Session.project` and `Session.follow`: a user's projections of a live session.

function sessionProjected(
  session: string,
  { log, live, onWarning }: SessionHost,
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

type ContextHost = Pick<RewindHost, "log" | "live" | "openActor" | "command" | "executed">;

function sessionContext(
  id: string,
  { log, live, openActor, command, executed }: ContextHost,
): Pick<Session, "compact" | "preview" | "context" | "bill"> {
  return {
    async compact(strategy, options) {
      let from = await executed();
      if (from === undefined) {
        const actor = await openActor("compact");
        from = actor.state.position + 1;
        assertIdle(actor, "compact");
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

    async bill(options) {
      const actor = await readyActor(live, id);
      const { state } = actor;
      await actor.durable();
      const { position = state.position, ...asked } = options ?? {};
      const { billOf } = await import("../../bill/index.ts");
      return await billOf(log, id, actor.prompts.known(state), { position, ...asked });
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

// `Session.append`: events of the user's own program in the log of a session. The machine does not see them.

function sessionAppend(
  session: string,
  { log, live, events }: SessionHost,
): Pick<ProgramEvents<EventSchemas>, "append"> {
  return {
    async append(type, given, { id } = {}) {
      const data = checkedAppData(definedIn(events, type, session), type, given);
      const actor = await live.actor(session);
      const known = id === undefined ? undefined : appendedAt(actor.state.appended, id);
      if (known !== undefined) {
        await actor.durable();
        const [event] = await log.readAt(session, [known]);
        const isSame =
          event?.type === type && !isRedacted(event) && isDeepStrictEqual(event.data, data);
        if (isSame) return { position: known, repeated: true };
        throw new TurnlogError(
          "EVENT_ID_CONFLICT",
          `Session ${session} already has a different event with the id ${JSON.stringify(id)}, at position ${known}. Nothing was appended. Use a new id for a new event.`,
          { session, position: known },
        );
      }
      assertNotClosed(actor, "take events");
      const position = actor.state.position + 1;
      actor.record({ type, data }, id);
      await actor.durable();
      return { position, repeated: false };
    },
  };
}

/** @throws TurnlogError `INVALID_INPUT` if the program did not define the event */
function definedIn(
  events: DefinedEvents | undefined,
  type: AppEventType,
  session: string,
): DefinedEvents {
  const known = Object.keys(events?.schemas ?? {});
  if (events !== undefined && known.includes(type)) return events;
  const nearest = nearestName(type, known);
  const advice = !isAppType(type)
    ? "Names of events begin with `app.`: all others are turnlog's own."
    : nearest === undefined
      ? "Define it with `defineEvents`, and pass the definition to `createRuntime({ events })`."
      : `Did you mean ${JSON.stringify(nearest)}?`;
  throw new TurnlogError(
    "INVALID_INPUT",
    `append: this runtime has no event ${JSON.stringify(type)}. ${advice}`,
    { session, details: { option: "type", ...(nearest === undefined ? {} : { nearest }) } },
  );
}
