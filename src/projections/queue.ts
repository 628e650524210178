/** Messages that were accepted and not delivered yet, and the ids of all accepted messages. */

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

function remove(state: QueueState, ids: readonly string[]): QueueState {
  const gone = new Set(ids);
  const waits = ({ id }: QueuedMessage): boolean => !gone.has(id);
  return { ...state, waiting: state.waiting.filter(waits), later: state.later.filter(waits) };
}

function isLater(message: QueuedMessage): message is LaterMessage {
  return message.notBefore !== undefined;
}

/** Adds a message at the end of those that may be delivered now, or at its time. */
function add(state: QueueState, message: QueuedMessage): QueueState {
  if (!isLater(message)) return { ...state, waiting: [...state.waiting, message] };
  const index = state.later.findIndex(({ notBefore }) => notBefore > message.notBefore);
  const place = index === -1 ? state.later.length : index;
  return { ...state, later: state.later.toSpliced(place, 0, message) };
}

function reschedule(
  state: QueueState,
  { data: { id, delivery, notBefore } }: SessionEvent<"message.rescheduled">,
): QueueState {
  const found = allWaiting(state).find((message) => message.id === id);
  if (found === undefined) return state;
  const { notBefore: before, ...message } = found;
  if (notBefore !== undefined) return add(remove(state, [id]), { ...message, delivery, notBefore });
  if (before !== undefined) return add(remove(state, [id]), { ...message, delivery });
  const waiting = state.waiting.map((one) => (one.id === id ? { ...one, delivery } : one));
  return { ...state, waiting };
}

const messageFields = {
  id: z.string(),
  content: userContentSchema,
  delivery: z.enum(["steer", "follow-up"]),
  position: z.int(),
  time: z.number(),
};

/** Folds the messages that wait for a turn or a step, and the ids that were accepted. */
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
      const message = { id, content, delivery, position, time };
      return {
        ...add(state, notBefore === undefined ? message : { ...message, notBefore }),
        accepted: withEntry(state.accepted, id, position),
      };
    },
    "message.delivered": (state, { data }) => remove(state, data.ids),
    "message.rescheduled": reschedule,
    "message.withdrawn": (state, { data }) => remove(state, data.ids),
  },
});
