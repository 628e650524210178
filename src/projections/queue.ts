/** Messages that were accepted but not delivered yet, and the ids of all accepted messages. */

import { z } from "zod";
import {
  userContentSchema,
  type Delivery,
  type SessionEvent,
  type StoredUserContent,
  chunkedSchema,
  entryOf,
  withEntry,
  type ChunkedRecord,
} from "../events/index.ts";
import { withAgain, withMessage, withMoved, withoutMessages } from "../folds/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

/** A message that waits to be delivered. */
export interface QueuedMessage {
  readonly id: string;
  readonly content: StoredUserContent;
  readonly delivery: Delivery;
  /** The position of its `message.queued`. */
  readonly position: number;
  readonly time: number;
  /** Epoch milliseconds: it is not delivered before. Absent if it may be delivered now. */
  readonly notBefore?: number;
}

export interface QueueState {
  /** The messages that may be delivered now, in the order of their delivery. */
  readonly waiting: readonly QueuedMessage[];
  /** The messages for later, by their times. */
  readonly later: readonly LaterMessage[];
  /** The position of each message's acceptance, by id. Read by {@link acceptedAt}. */
  readonly accepted: ChunkedRecord<number>;
}

/** The position at which a message was accepted; undefined if it never was. */
export function acceptedAt({ accepted }: QueueState, id: string): number | undefined {
  return entryOf(accepted, id);
}

type LaterMessage = QueuedMessage & { readonly notBefore: number };

/** All messages that wait: first those that may be delivered now. */
export function allWaiting({ waiting, later }: QueueState): readonly QueuedMessage[] {
  return later.length === 0 ? waiting : [...waiting, ...later];
}

function isLater(message: QueuedMessage): message is LaterMessage {
  return message.notBefore !== undefined;
}

function withWaiting(state: QueueState, messages: readonly QueuedMessage[]): QueueState {
  const later = messages.filter(isLater);
  return { ...state, waiting: messages.slice(0, messages.length - later.length), later };
}

function removed(
  state: QueueState,
  { data: { ids } }: SessionEvent<"message.delivered" | "message.withdrawn">,
): QueueState {
  return withWaiting(state, withoutMessages(allWaiting(state), ids));
}

/** The queue after a rewind. */
export function queuedAgain(state: QueueState, messages: readonly QueuedMessage[]): QueueState {
  return withWaiting(state, withAgain(allWaiting(state), messages));
}

function timeOf(notBefore: number | undefined): Pick<QueuedMessage, "notBefore"> {
  return notBefore === undefined ? {} : { notBefore };
}

const messageFields = {
  id: z.string(),
  content: userContentSchema,
  delivery: z.enum(["steer", "follow-up"]),
  position: z.int(),
  time: z.number(),
};

/**
 * Folds the messages that wait for a turn or a step, and the ids that were accepted.
 * @example
 * const state = events.reduce(queue.fold, queue.initial);
 */
export const queue: Projection<QueueState> = defineProjection<QueueState>({
  name: "queue",
  version: 5,
  follows: "log",
  schema: z.lazy(() =>
    z.object({
      waiting: z.array(z.object(messageFields)),
      later: z.array(z.object({ ...messageFields, notBefore: z.number() })),
      accepted: chunkedSchema(z.int()),
    }),
  ),
  initial: { waiting: [], later: [], accepted: [] },
  on: {
    "message.queued": (state, { position, time, data }) => {
      const { id, content, delivery, notBefore } = data;
      const message = { id, content, delivery, position, time, ...timeOf(notBefore) };
      return {
        ...withWaiting(state, withMessage(allWaiting(state), message)),
        accepted: withEntry(state.accepted, id, position),
      };
    },
    "message.rescheduled": (state, { data: { id, delivery, notBefore } }) => {
      const moved = withMoved(allWaiting(state), id, ({ notBefore: _, ...message }) => ({
        ...message,
        delivery,
        ...timeOf(notBefore),
      }));
      return withWaiting(state, moved);
    },
    "message.delivered": removed,
    "message.withdrawn": removed,
  },
});
