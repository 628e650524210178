/** A chat in a store that another process has open: that process's agent answers, and its runtime records. */

import { type SessionEvent, TurnlogError } from "../../events/index.ts";
import { messageParts } from "../../media/index.ts";
import { eventsOfTurn } from "../../runtime/index.ts";
import type { SessionClient } from "../../client/index.ts";
import type { StoreOwner } from "../owner/store-owner.ts";
import type { ChatHost, ChatResult, ChatSession, ChatTurn } from "./host/chat-session.ts";
import { conversationOf } from "./screen/conversation-state.ts";
import type { BegunRerun, RerunRequest } from "./run-turn.ts";

export function ownerHost({ client, log }: StoreOwner): ChatHost {
  return {
    log,
    session: async (id) => chatSession(await client.createSession(id)),
    close: async () => {},
    [Symbol.asyncDispose]: async () => {},
  };
}

/**
 * Begins a rerun there, by that process's agent.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT`, `REVISION_CONFLICT`
 */
export async function ownerRerun(
  { client }: StoreOwner,
  { session, as: id, position, step }: RerunRequest,
): Promise<BegunRerun> {
  const origin = client.session(session);
  const begun = await origin.rerun(step === undefined ? { id, position } : { id, step });
  return { ...begun, fork: chatSession(begun.session) };
}

type Accepted = Awaited<ReturnType<SessionClient["send"]>>;

function chatSession(session: SessionClient): ChatSession {
  const { id } = session;
  return {
    ...session,
    preview: async ({ compact, ...at } = {}) => {
      if (compact !== undefined) throw ownWay();
      return await session.preview(at);
    },
    compact: async (strategy) => {
      if (strategy !== undefined) throw ownWay();
      return await session.compact();
    },
    idle: () => untilIdle(session),
    send: async (input, options) =>
      turnOf(session, await session.send(await messageParts(id, input), options)),
    turn: async (messageId) => turnOf(session, { messageId, position: 1 }),
    regenerate: async () => turnOf(session, await session.regenerate()),
    fork: async (options) => chatSession(await session.fork(options)),
  };
}

function ownWay(): TurnlogError {
  return new TurnlogError(
    "COMMAND_REFUSED",
    "The process that has the store open compacts by its own agent's strategy: leave the strategy out here.",
  );
}

function turnOf(
  session: SessionClient,
  { messageId, position, replaced }: Pick<Accepted, "messageId" | "position" | "replaced">,
): ChatTurn {
  const events = (): AsyncIterable<SessionEvent> => {
    const left = new AbortController();
    const all = session.events({ from: position, signal: left.signal });
    return stopping(eventsOfTurn(all, messageId), left);
  };
  return {
    replaced: Promise.resolve(replaced),
    get result() {
      const result = resultOf(session.id, events());
      result.catch(() => {});
      return result;
    },
    [Symbol.asyncIterator]: () => events()[Symbol.asyncIterator](),
  };
}

/** Closes the connection with the last event. */
async function* stopping(
  events: AsyncIterable<SessionEvent>,
  left: AbortController,
): AsyncGenerator<SessionEvent, void, void> {
  try {
    yield* events;
  } finally {
    left.abort();
  }
}

async function resultOf(session: string, events: AsyncIterable<SessionEvent>): Promise<ChatResult> {
  for await (const event of events) {
    if (event.type === "message.withdrawn")
      throw new TurnlogError("COMMAND_REFUSED", "The message was withdrawn.", { session });
    if (event.type !== "turn.ended") continue;
    const { turn, reason, error } = event.data;
    if (reason !== "failed") return { finishReason: reason };
    const why = error === undefined ? "" : `: ${error.message}`;
    throw new TurnlogError("TURN_FAILED", `Turn ${turn} of session ${session} failed${why}`, {
      session,
      cause: error,
    });
  }
  throw new TurnlogError(
    "LOG_CLOSED",
    `The turn of session ${session} ended without being shown here.`,
    {
      session,
    },
  );
}

const endings: ReadonlySet<string> = new Set([
  "turn.ended",
  "context.compacted",
  "context.compaction-rejected",
]);

async function untilIdle(session: SessionClient): Promise<void> {
  const left = new AbortController();
  try {
    let view = await session.view();
    if (conversationOf(view).activity === "idle") return;
    const { position } = view;
    for await (const { type } of session.events({ from: position + 1, signal: left.signal })) {
      if (!endings.has(type)) continue;
      view = await session.view();
      if (conversationOf(view).activity === "idle") return;
    }
  } finally {
    left.abort();
  }
}
