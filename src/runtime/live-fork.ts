/** Forks a session of a running runtime: by whom it is run, where it branches off, what is said instead. */

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

/** What the runtime lends for it. */
export interface ForkHost {
  readonly log: EventLog;
  readonly agents: AgentRegistry;
  readonly newId: () => string;
  /** How files of an edited message are read. */
  readonly attachments: AttachmentOptions;
  /** Where files lie, and how large they may be. */
  readonly blobs: OpenedBlobs;
  /** The MCP servers of the runtime. */
  readonly servers: McpServers | undefined;
  /** Epoch milliseconds. */
  readonly clock: () => number;
  /** Wakes the new session up; what becomes of a turn that ran where it branches off is the runtime's usual, or this. */
  readonly open: (session: string, recovery?: RecoveryPolicy) => Promise<Session>;
}

/** @throws TurnlogError as `Session.fork` */
export async function forkLive(
  session: string,
  options: ForkOptions,
  { log, agents, newId, clock, attachments, blobs, servers, open }: ForkHost,
  recovery?: RecoveryPolicy,
): Promise<Session> {
  const { id = newId(), at, edit, undo = false } = options;
  const as = parseSessionId(id);
  const edited =
    edit === undefined ? undefined : await receiveInput(as, heldInput(as, edit), attachments);
  // Before there is a fork.
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
  const point = edit === undefined && !undo ? undefined : await forkPoint(log, session, at, undo);
  const position = point?.position ?? at;
  // Held until the fork has said it.
  using _ =
    edited === undefined
      ? undefined
      : await accepted(as, edited, await stateAt(log, session, position), blobs);
  await forkSession(log, session, {
    as,
    ...(position === undefined ? {} : { at: position }),
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
 * A message as the fork would take it: what it would refuse is refused before there is one.
 * @throws TurnlogError as `Session.send`
 */
async function accepted(
  session: string,
  content: StoredUserContent,
  { blobs: shared }: SessionState,
  blobs: OpenedBlobs,
): Promise<Disposable | undefined> {
  const own = { session, media: undefined, known: () => shared, onWarning: () => {} };
  return await new SessionBlobs({ ...blobs, ...own }).input(content);
}
