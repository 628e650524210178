/**
 * Forks a session of a running runtime: finds the position, chooses the agent, sends the edited message.
 * Called by the runtime. It never changes the session that is forked.
 */

import {
  parseSessionId,
  TurnlogError,
  type EventLog,
  type RecoveryPolicy,
  type StoredUserContent,
} from "../events/index.ts";
import {
  type AttachmentOptions,
  assertSendable,
  type OpenedBlobs,
  SessionBlobs,
  heldInput,
  receiveInput,
} from "../media/index.ts";
import { changedAgent, type AgentRegistry } from "./agent-registry.ts";
import { forkPoint, type SessionState, stateAt } from "../state/index.ts";
import { forkSession } from "../archive/index.ts";
import type { ForkOptions, Session } from "./session.ts";
import type { McpServers } from "../mcp/index.ts";

/** What the runtime provides for a fork. */
export interface ForkHost {
  readonly log: EventLog;
  readonly agents: AgentRegistry;
  readonly newId: () => string;
  /** How files of an edited message are read. */
  readonly attachments: AttachmentOptions;
  /** Where files are stored, and how large they may be. */
  readonly blobs: OpenedBlobs;
  /** The MCP servers of the runtime. */
  readonly servers: McpServers | undefined;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Activates the new session. `recovery` replaces the runtime's policy for a turn that is cut by the fork. */
  readonly open: (session: string, recovery?: RecoveryPolicy) => Promise<Session>;
}

/** @throws TurnlogError as `Session.fork` */
export async function forkLive(
  session: string,
  options: ForkOptions,
  { log, agents, newId, clock, attachments, blobs, servers, open }: ForkHost,
  recovery?: RecoveryPolicy,
): Promise<Session> {
  const { id = newId(), position: last, edit, undo = false } = options;
  const as = parseSessionId(id);
  const edited =
    edit === undefined ? undefined : await receiveInput(as, heldInput(as, edit), attachments);
  if (edited !== undefined) assertSendable(as, edited);
  if (edit !== undefined && undo) {
    throw new TurnlogError(
      "INVALID_INPUT",
      `A fork of ${session} either undoes the last turn or edits its message: give one of \`undo\` and \`edit\`.`,
      { session },
    );
  }
  const before = agents.of(session);
  const sessionAgent = await changedAgent(before, options, servers);
  const point = edit === undefined && !undo ? undefined : await forkPoint(log, session, last, undo);
  const position = point?.position ?? last;
  // Holds the blobs until the fork has recorded the message.
  using _ =
    edited === undefined
      ? undefined
      : await storedInput(as, edited, await stateAt(log, session, position), blobs);
  await forkSession(log, session, {
    as,
    ...(position === undefined ? {} : { position }),
    ...(sessionAgent === before ? {} : { agent: sessionAgent.prepared.description }),
    withdraw: point?.waiting ?? [],
    now: clock(),
  });
  agents.set(as, sessionAgent);
  const fork = await open(as, recovery);
  if (edited !== undefined) await fork.send(edited);
  return fork;
}

/**
 * Stores the message as the fork will: what the fork would refuse is refused before it exists.
 * @throws TurnlogError as `Session.send`
 */
async function storedInput(
  session: string,
  content: StoredUserContent,
  { blobs: shared }: SessionState,
  blobs: OpenedBlobs,
): Promise<Disposable | undefined> {
  const own = { session, media: undefined, known: () => shared, onWarning: () => {} };
  return await new SessionBlobs({ ...blobs, ...own }).input(content);
}
