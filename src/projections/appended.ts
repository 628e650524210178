/** The ids of a program's events, since repeating an id appends nothing, and the newest of them. */

import { z } from "zod";
import {
  chunkedSchema,
  entryOf,
  isAppEvent,
  withEntry,
  type ChunkedRecord,
} from "../events/index.ts";
import { defineProjection, type Projection } from "./projection.ts";

export interface AppendedState {
  /** The position of each event that has an id. Read by {@link appendedAt}. */
  readonly ids: ChunkedRecord<number>;
  /** The position of the newest event of a program; 0 if there is none. */
  readonly newest: number;
}

/** The position of the event with an id; undefined if there is none. */
export function appendedAt({ ids }: AppendedState, id: string): number | undefined {
  return entryOf(ids, id);
}

export const appended: Projection<AppendedState> = {
  ...defineProjection<AppendedState>({
    name: "appended",
    version: 1,
    follows: "log",
    schema: z.object({ ids: chunkedSchema(z.int()), newest: z.int() }),
    initial: { ids: [], newest: 0 },
    on: {},
  }),
  // Each event whatever its type: an id is unique in its session.
  fold: (state, event) => {
    const { id, position } = event;
    const newest = isAppEvent(event) ? position : state.newest;
    if (id === undefined) return newest === state.newest ? state : { ...state, newest };
    return { ids: withEntry(state.ids, id, position), newest };
  },
};
