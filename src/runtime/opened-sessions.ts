/** Opens sessions of a runtime, new ones, stored ones and forks, and hands out their checked handles. */

import { setTimeout } from "node:timers/promises";
import { randomUUID } from "node:crypto";
import { z } from "zod";
import { safeValidateTypes, type FlexibleSchema } from "@ai-sdk/provider-utils";
import {
  ownCopy,
  parseSessionId,
  type ParentCall,
  isElsewhere,
  TurnlogError,
  type InboxCommand,
  type JsonObject,
  type EventLog,
  type RecoveryPolicy,
} from "../events/index.ts";
import type { Agent } from "../agent/index.ts";
import { checkPosition, readSummary, differentKey } from "../state/index.ts";
import { check } from "../validation/index.ts";
import type { SessionSummary } from "../projections/index.ts";
import { heldInput, receiveInput, type Attaching, type UserInput } from "../media/index.ts";
import { withFullStop } from "../shared/index.ts";
import { forkSession } from "../archive/index.ts";
import { cancelAbandoned, agentOf, assertChildOf } from "./live/sub-agents.ts";
import type { AgentRegistry, SessionAgent } from "./live/agent-registry.ts";
import { isBack, type OpenSessionOptions } from "./api/runtime.ts";
import { openSessionSchema } from "./api/runtime-schema.ts";
import { type RuntimeSettings, asWarning } from "./api/runtime-options.ts";
import type { Session } from "./api/session.ts";
import { sessionExecution, type Execute, type SessionHost } from "./commands/execution.ts";
import { give, sessionHandle, type HandleHost } from "./commands/handle.ts";
import type { Opening, LiveSession } from "./live/live-session.ts";
import type { SessionActor } from "./session/actor.ts";
import type { LiveSessions } from "./live/live-sessions.ts";
import {
  assertIdle,
  assertNotClosed,
  commands,
  ownArguments,
  reads,
  type AgentChanges,
  type Command,
  type ForkOptions,
} from "../commands/index.ts";

interface OpeningHost extends Pick<
  SessionHost,
  "log" | "live" | "onWarning" | "redact" | "delete"
> {
  readonly options: RuntimeSettings;
  readonly agents: AgentRegistry;
  /** Aborted when the runtime closes. */
  readonly closing: AbortSignal;
}

/** After which another process is asked again whether it has created a session. */
const CREATION_MS = 20;

/** Checked when its files are read. */
const userInput = z.custom<UserInput>();

export class OpenedSessions {
  readonly #host: OpeningHost;

  constructor(host: OpeningHost) {
    this.#host = host;
  }

  async open(id: string = this.#newId(), options: OpenSessionOptions = {}): Promise<Session> {
    const session = parseSessionId(id);
    check(openSessionSchema, options, "session", { name: "options", session });
    const { createIfMissing = true, ...opening } = ownCopy(options);
    if (opening.agent !== undefined) this.#host.agents.named(opening.agent, "session", session);
    const liveSessions = this.#host.live;
    if (opening.metadata !== undefined && (await this.#host.log.revision(session)) === 0)
      await assertMetadata(this.#host.options.metadataSchema, session, opening.metadata);
    if (!createIfMissing) {
      liveSessions.assertOpen(session);
      await checkPosition(this.#host.log, session);
    }
    await this.#activate(session, opening);
    return this.#handle(session);
  }

  /** Activates a session, unless another process runs it. */
  async #activate(session: string, opening: Opening): Promise<SessionSummary> {
    const { log, live, closing } = this.#host;
    try {
      const { actor, agent } = await live.activate(session, opening);
      const { summary } = actor.state;
      assertOpenedAs(session, { agent: agent.name, metadata: summary.metadata }, opening);
      return summary;
    } catch (error) {
      if (!isElsewhere(error) || log.inbox === undefined) throw error;
      const revision = await log.revision(session);
      if (revision === 0 && (opening.metadata ?? opening.agent ?? opening.parent) !== undefined) {
        // That process creates it now, or has died before it could: nothing says yet as what.
        await setTimeout(CREATION_MS, undefined, { signal: closing }).catch(() => {});
        return await this.#activate(session, opening);
      }
      const summary = await readSummary(log, session, revision);
      assertOpenedAs(session, summary, opening);
      return summary;
    }
  }

  #handle(session: string): Session {
    return sessionHandle(session, this.#handleHost(session));
  }

  /** Gives a command to a session that may not be open. @throws TurnlogError as the command */
  async give(session: string, command: Command, given: readonly unknown[]): Promise<unknown> {
    return await give(session, this.#handleHost(session), command, given);
  }

  #handleHost(session: string): HandleHost {
    return {
      local: (command) => this.#execution(session, command),
      inbox: this.#host.log.inbox,
      newId: () => this.#newId(),
      received: (input) =>
        receiveInput(session, heldInput(session, userInput.parse(input)), this.#attaching(session)),
      closing: this.#host.closing,
    };
  }

  #attaching(session: string): Attaching {
    const { options, live } = this.#host;
    const resource: Attaching["resource"] = (source) => live.mcp?.attachment(source, { session });
    return { ...options.attachments, resource };
  }

  /**
   * Executes a command that another process sent.
   * @throws TurnlogError `INVALID_INPUT` for a command that this release does not know, and as the command
   */
  async execute(session: string, { id, name, args }: InboxCommand): Promise<unknown> {
    const command = [...commands, ...reads].find((one) => one.name === name && one.isForwarded);
    if (command === undefined)
      throw new TurnlogError(
        "INVALID_INPUT",
        `Session ${session} got the command ${JSON.stringify(name)}, which this release does not know. Update all processes to the same release.`,
        { session },
      );
    // JSON has no word for an argument that was left out before another one.
    const given = args.map((argument) => argument ?? undefined);
    return await this.#execution(session, id)(command, ownArguments(session, command, given));
  }

  /** Carries commands out in this process. @param command - The id of the one that another process sent. */
  #execution(session: string, command?: string): Execute {
    const liveSessions = this.#host.live;
    const host: SessionHost = {
      log: this.#host.log,
      newId: () => this.#newId(),
      clock: this.#host.options.clock ?? Date.now,
      attachments: this.#attaching(session),
      live: liveSessions,
      events: this.#host.options.events,
      onWarning: this.#host.onWarning,
      assertMetadata: (metadata) =>
        assertMetadata(this.#host.options.metadataSchema, session, metadata),
      agent: async () => (await this.#agentOf(session)).prepared.agent,
      delete: this.#host.delete,
      redact: this.#host.redact,
      changeAgent: (name, changes, command) =>
        liveSessions.working(name, () =>
          configureLive(name, changes, command, { agents: this.#host.agents, live: liveSessions }),
        ),
      fork: (from, fork, recovery) =>
        liveSessions.working(from, async () => {
          const { encryption } = this.#host.options;
          const agent = await this.#agentOf(from, encryption && forkedThere);
          return await forkLive(from, agent, fork, this.#forkHost(), recovery);
        }),
    };
    return sessionExecution(session, host, command);
  }

  /** @throws TurnlogError as `Runtime.agentOf` */
  async agentOf(id: string, name?: string): Promise<Agent> {
    const session = parseSessionId(id);
    await checkPosition(this.#host.log, session);
    return (await this.#recordedAgent(session, name)).given;
  }

  /**
   * The agent of a session, as this process has it.
   * @param refused - What is thrown where another process runs the session. Default: nothing is.
   */
  async #agentOf(session: string, refused?: typeof forkedThere): Promise<SessionAgent> {
    const { log, live } = this.#host;
    try {
      return (await live.activate(session)).agent;
    } catch (error) {
      if (!isElsewhere(error) || log.inbox === undefined) throw error;
      if (refused === undefined) return await this.#recordedAgent(session);
      throw isBack(error) ? error : refused(session, error);
    }
  }

  /** @param name - Default: the one in the log. */
  async #recordedAgent(session: string, name?: string): Promise<SessionAgent> {
    const { log, agents } = this.#host;
    const summary = await readSummary(log, session, await log.revision(session));
    const { agent: last, metadata = {}, parent, agentFrom } = summary;
    const names = { recorded: name ?? last, asked: undefined };
    return await agentOf(log, agents, { id: session, metadata }, names, parent ?? agentFrom);
  }

  /** The session of a sub-agent has the metadata of its parent: it belongs to the same tenant. */
  async child(id: string, parent: ParentCall): Promise<Session> {
    const child = parseSessionId(id);
    const { log } = this.#host;
    const { metadata } = await readSummary(log, parent.session, await log.revision(parent.session));
    // The call runs, so the turn of its session does too, whatever the runtime does with other turns.
    const opening = { parent, metadata, recovery: "continue" } as const;
    assertChildOf(child, (await this.#activate(child, opening)).parent, parent);
    return this.#handle(child);
  }

  /** Ends the turns of sub-agents whose calls a recovery of `actor` has ended. */
  cancelAbandoned(actor: SessionActor, children: readonly string[]): void {
    const { log, live, closing, onWarning } = this.#host;
    const cancelling = live.working(actor.session, async () => {
      // Whether a call has ended is read from the log.
      await actor.durable();
      for (const child of children) await cancelAbandoned(log, child, (id) => this.open(id));
    });
    cancelling.catch((error: unknown) => {
      // The next activation of such a session ends its turn.
      if (!closing.aborted)
        onWarning(
          asWarning(error, `The sub-agents of session ${actor.session} could not be managed.`),
        );
    });
  }

  #newId(): string {
    return (this.#host.options.newId ?? randomUUID)();
  }

  #forkHost(): ForkHost {
    return {
      log: this.#host.log,
      agents: this.#host.agents,
      newId: () => this.#newId(),
      clock: this.#host.options.clock ?? Date.now,
      open: async (session, recovery) => {
        // Without a snapshot the list of sessions reads the whole shared history until the first turn ends.
        this.#host.live.keep(await this.#host.live.activate(session, { recovery }), "forked");
        return await this.open(session);
      },
    };
  }
}

/** @throws TurnlogError `INVALID_INPUT` */
async function assertMetadata(
  schema: FlexibleSchema<unknown> | undefined,
  session: string,
  metadata: JsonObject,
): Promise<void> {
  if (schema === undefined) return;
  // A schema may change what it gets; the metadata are recorded as they are.
  const checked = await safeValidateTypes({ value: ownCopy(metadata), schema });
  if (checked.success) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The metadata of session ${session} do not fit \`metadataSchema\`: ${withFullStop(checked.error.message)}`,
    { session, cause: checked.error, details: { option: "metadata" } },
  );
}

interface ForkHost {
  readonly log: EventLog;
  readonly agents: AgentRegistry;
  readonly newId: () => string;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Activates the new session. `recovery` replaces the runtime's policy for a turn that is cut by the fork. */
  readonly open: (session: string, recovery?: RecoveryPolicy) => Promise<Session>;
}

/** @throws TurnlogError as `Session.fork` */
async function forkLive(
  session: string,
  before: SessionAgent,
  options: ForkOptions,
  { log, agents, newId, clock, open }: ForkHost,
  recovery?: RecoveryPolicy,
): Promise<Session> {
  const { id = newId(), position } = options;
  const as = parseSessionId(id);
  const sessionAgent = await agents.changed(session, before, options, "fork");
  await forkSession(log, session, {
    as,
    ...(position === undefined ? {} : { position }),
    ...(sessionAgent === before ? {} : { agent: sessionAgent.prepared.description }),
    now: clock(),
  });
  if (sessionAgent !== before || agents.isChanged(session)) agents.set(as, sessionAgent);
  return await open(as, recovery);
}

/** The process that runs an encrypted session might delete it, and give its forks their keys. */
function forkedThere(session: string, cause: unknown): TurnlogError {
  return new TurnlogError(
    "SESSION_ELSEWHERE",
    `Another process runs session ${session}, and only the process that runs an encrypted session can fork it or run a turn of it again. Do so there, or repeat the call when that process has given the session back: after \`idleAfterMs\` at rest, or when it closes.`,
    { session, cause },
  );
}

// Changes the agent of a live session between turns.

/** @throws TurnlogError as `Session.configure` */
async function configureLive(
  session: string,
  changes: AgentChanges,
  command: string,
  { agents, live }: { readonly agents: AgentRegistry; readonly live: LiveSessions },
): Promise<void> {
  const before = await live.activate(session);
  const assertMayChange = ({ actor }: LiveSession): undefined => {
    assertNotClosed(actor, command);
    assertIdle(actor, command);
  };
  assertMayChange(before);
  const after = await agents.changed(session, before.agent, changes, command);
  if (after === before.agent) return;
  // A new actor takes all that depends on the agent, and records the change.
  await live.whilePassive(session, assertMayChange, async () => {
    agents.set(session, after);
  });
  await live.activate(session);
}

interface Recorded {
  /** Undefined for the agent of a runtime that has one only. */
  readonly agent?: string | undefined;
  readonly metadata?: JsonObject | undefined;
}

/** Refuses a session that is not as its caller says. @throws TurnlogError `COMMAND_REFUSED` */
function assertOpenedAs(
  session: string,
  { agent, metadata: recorded }: Recorded,
  { agent: asked, metadata }: Opening,
): void {
  if (asked !== undefined && asked !== agent) {
    throw new TurnlogError(
      "COMMAND_REFUSED",
      `Session ${session} is run by \`${agent}\`, not by \`${asked}\`. Open it without \`agent\`, and change its agent with \`session.configure({ agent: "${asked}" })\`.`,
      { session, details: { agent, asked } },
    );
  }
  const other = differentKey(recorded, metadata);
  if (other === undefined) return;
  throw new TurnlogError(
    "COMMAND_REFUSED",
    `Session ${session} has another \`metadata.${other}\` than it was opened with. If it is the right session, open it without, and change it with \`session.setMetadata\`.`,
    { session, details: { option: `metadata.${other}` } },
  );
}
