/**
 * What sub-agents say while their calls run, among the events of the session that called them. It is read from
 * their own logs: nothing of it is recorded in the caller's.
 */

import { isCallEnd, type SessionEvent } from "../../events/index.ts";
import { readUIMessages, uiMessages, type SessionMessage, type UIOptions } from "../../ui/index.ts";
import type { Session } from "../api/session.ts";

export type Followed =
  | { readonly kind: "event"; readonly event: SessionEvent }
  /** The reply of a sub-agent so far. */
  | { readonly kind: "progress"; readonly callId: string; readonly message: SessionMessage };

/** A whole message is shown again when it has grown by this share: all of them add up to some ten messages. */
const GROWTH = 0.1;

type Options = Pick<UIOptions, "blobUrl">;

/** The events, and between them what the sub-agents of running calls say. Ends with the events. */
export async function* withProgress(
  session: Session,
  events: AsyncIterable<SessionEvent>,
  options: Options,
): AsyncGenerator<Followed, void, void> {
  const following = new Map<string, AbortController>();
  const said = new Map<string, SessionMessage>();
  let isNext = false;
  // One for each wait: a race would leave its waits on the promise that comes last.
  let news = Promise.withResolvers<void>();
  const show = (callId: string, message: SessionMessage): void => {
    said.set(callId, message);
    news.resolve();
  };
  const iterator = events[Symbol.asyncIterator]();
  const ask = (): Promise<IteratorResult<SessionEvent>> => {
    isNext = false;
    const arrived = (): void => {
      isNext = true;
      news.resolve();
    };
    const asked = iterator.next();
    asked.then(arrived, arrived);
    return asked;
  };
  let next = ask();
  try {
    for (;;) {
      if (!isNext && said.size === 0) await news.promise;
      news = Promise.withResolvers<void>();
      if (!isNext) {
        const shown = [...said];
        said.clear();
        for (const [callId, message] of shown) yield { kind: "progress", callId, message };
        continue;
      }
      const result = await next;
      if (result.done === true) return;
      const event = result.value;
      const call = await calledAgent(session, event);
      if (call !== undefined) {
        const ended = new AbortController();
        following.set(call.callId, ended);
        follow(session, call.child, options, ended.signal, (message) => {
          if (!ended.signal.aborted) show(call.callId, message);
        });
      } else if (isCallEnd(event)) {
        following.get(event.data.callId)?.abort();
        following.delete(event.data.callId);
        said.delete(event.data.callId);
      }
      yield { kind: "event", event };
      next = ask();
    }
  } finally {
    for (const followed of following.values()) followed.abort();
    await iterator.return?.();
  }
}

interface AgentCall {
  readonly callId: string;
  readonly child: string;
}

/** The call that a sub-agent runs now; undefined for all other events, and for a call that has ended since. */
async function calledAgent(session: Session, event: SessionEvent): Promise<AgentCall | undefined> {
  if (event.type !== "tool.started" || event.data.child === undefined) return undefined;
  const { callId, child } = event.data;
  const { toolCalls } = await session.view();
  const isRunning = toolCalls.some((call) => call.child === child && call.status === "running");
  return isRunning ? { callId, child } : undefined;
}

/** Shows the reply at every structural event, and when it has grown. A failure ends it: the call tells why. */
function follow(
  session: Session,
  child: string,
  options: Options,
  signal: AbortSignal,
  show: (message: SessionMessage) => void,
): void {
  const read = async (): Promise<void> => {
    const { initial, fold } = uiMessages({ session: child, ...options });
    let state = initial;
    let size = 0;
    let grown = 0;
    for await (const event of session.events({ subAgent: child, signal })) {
      state = fold(state, event);
      const isDelta = event.type.endsWith("-delta");
      if (event.type === "part.text-delta" || event.type === "part.reasoning-delta")
        grown += event.data.text.length;
      if (isDelta && grown <= size * GROWTH) continue;
      size += grown;
      grown = 0;
      const message = readUIMessages(state).messages.at(-1)?.message;
      if (message?.role === "assistant") show(message);
    }
  };
  read().catch(() => {});
}
