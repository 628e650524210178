/**
 * What a projection is: a named, versioned, pure fold over events. Defined by a map of transitions
 * in the form of `@xstate/store`, so the same definition folds a log and drives a live store.
 */

import { createStore, type Store } from "@xstate/store";
import type { z } from "zod";
import { deepFreeze, type EventType, type SessionEvent } from "../events/index.ts";

/** One transition for each event type that means something to the projection. */
type Transitions<State> = {
  readonly [Type in EventType]?: (state: State, event: SessionEvent<Type>) => State;
};

/** What a projection is made of. */
export interface ProjectionDefinition<State extends object> {
  readonly name: string;
  /** Raise it when the state or its meaning changes: stored snapshots of other versions are dropped. */
  readonly version: number;
  /** Parses a stored snapshot. */
  readonly schema: z.ZodType<State>;
  readonly initial: State;
  readonly on: Transitions<State>;
}

/** A pure fold over events, named and versioned. */
export interface Projection<State extends object> extends ProjectionDefinition<State> {
  /** The state after an event. Pure; an event that means nothing here returns the same object. */
  fold(state: State, event: SessionEvent): State;
}

/** Makes a projection of its definition. */
export function defineProjection<State extends object>(
  definition: ProjectionDefinition<State>,
): Projection<State> {
  const { on } = definition;
  // One object for all states that begin with it.
  deepFreeze(definition.initial);
  return {
    ...definition,
    // Called directly: on a log of deltas the store's own transition would cost three times the fold.
    fold: (state, event) => {
      // Looked up by the event's own type, which the compiler cannot follow through the union.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const transition = on[event.type] as
        | ((state: State, event: SessionEvent) => State)
        | undefined;
      return transition === undefined ? state : transition(state, event);
    },
  };
}

/** A live `@xstate/store` over a projection: send it the events of a subscription, bind it to a screen. */
export function projectionStore<State extends object>(
  projection: Projection<State>,
): Store<State, { event: { event: SessionEvent } }, never> {
  return createStore({
    context: projection.initial,
    on: {
      event: (state: State, { event }: { event: SessionEvent }) => projection.fold(state, event),
    },
  });
}
