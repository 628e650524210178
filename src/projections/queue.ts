/** Messages that were accepted and not delivered yet, and the ids of all accepted messages. */

import { z } from "zod";
import {
  userContentSchema,
  type Delivery,
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
}

export interface QueueState {
  /** Oldest first. */
  readonly waiting: readonly QueuedMessage[];
  /** The position of each message's acceptance, by id. Read by {@link acceptedAt}. */
  readonly accepted: ChunkedRecord<number>;
}

/** The position at which a message was accepted; undefined if it never was. */
export function acceptedAt({ accepted }: QueueState, id: string): number | undefined {
  return entryOf(accepted, id);
}

function remove(state: QueueState, ids: readonly string[]): QueueState {
  const gone = new Set(ids);
  return { ...state, waiting: state.waiting.filter((message) => !gone.has(message.id)) };
}

/** Folds the messages that wait for a turn or a step, and the ids that were accepted. */
export const queue: Projection<QueueState> = defineProjection<QueueState>({
  name: "queue",
  version: 4,
  follows: "log",
  schema: z.object({
    waiting: z.array(
      z.object({
        id: z.string(),
        content: userContentSchema,
        delivery: z.enum(["steer", "follow-up"]),
        position: z.int(),
        time: z.number(),
      }),
    ),
    accepted: chunkedSchema(z.int()),
  }),
  initial: { waiting: [], accepted: [] },
  on: {
    "message.queued": (state, { position, time, data }) => ({
      waiting: [
        ...state.waiting,
        { id: data.id, content: data.content, delivery: data.delivery, position, time: time },
      ],
      accepted: withEntry(state.accepted, data.id, position),
    }),
    "message.delivered": (state, { data }) => remove(state, data.ids),
    "message.rescheduled": (state, { data }) => ({
      ...state,
      waiting: state.waiting.map((message) =>
        message.id === data.id ? { ...message, delivery: data.delivery } : message,
      ),
    }),
    "message.withdrawn": (state, { data }) => remove(state, data.ids),
  },
});
