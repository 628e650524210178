/**
 * Named, versioned, pure folds over events. Transitions have the form of `@xstate/store`, which can drive a
 * live store by the same definition.
 */

import type { z } from "zod";
import {
  deepFreeze,
  eventSchemas,
  isAppEvent,
  TurnlogError,
  type AppEvent,
  type AppEventType,
  type DefinedEvents,
  type EventSchemas,
  type EventType,
  type NoEvents,
  type SessionEvent,
} from "../events/index.ts";

type OwnType = Exclude<EventType, AppEventType>;

type Transitions<State> = {
  readonly [Type in OwnType]?: (state: State, event: SessionEvent<Type>) => State;
};

type AppTransitions<State, Schemas extends EventSchemas> = {
  readonly [Type in keyof Schemas & AppEventType]?: (
    state: State,
    event: Extract<AppEvent<Schemas>, { readonly type: Type }>,
  ) => State;
};

interface ProjectionBase<State extends object> {
  readonly name: string;
  /** Raise it when the state or its meaning changes: snapshots of other versions are ignored. */
  readonly version: number;
  /** `branch`: a rewind brings back the state of the active branch. `log`: the state covers all events. */
  readonly follows: "branch" | "log";
  /** Parses a stored snapshot, which is the state as JSON. Must give the same state back. */
  readonly schema: z.ZodType<State>;
  readonly initial: State;
}

export interface ProjectionDefinition<
  State extends object,
  Schemas extends EventSchemas = NoEvents,
> extends ProjectionBase<State> {
  readonly initial: NoInfer<State>;
  /** The events of your program that `on` names, from `defineEvents`. Their data comes parsed. */
  readonly events?: DefinedEvents<Schemas>;
  readonly on: Transitions<NoInfer<State>> & AppTransitions<NoInfer<State>, NoInfer<Schemas>>;
}

/**
 * A pure fold over events, named and versioned.
 * @example
 * const openNow = ({ fold, initial }: Projection<{ open: readonly string[] }>): readonly string[] =>
 *   events.reduce(fold, initial).open;
 */
export interface Projection<State extends object> extends ProjectionBase<State> {
  /**
   * The state after an event; the same object if the projection does not use the event. Pure.
   * @throws TurnlogError `EVENT_INVALID` if an event of your program does not fit its schema
   */
  fold(state: State, event: SessionEvent): State;
}

const keys: Readonly<Record<keyof ProjectionDefinition<object>, true>> = {
  name: true,
  version: true,
  follows: true,
  schema: true,
  initial: true,
  events: true,
  on: true,
};

/**
 * Makes a projection from its definition.
 * @example
 * const runs = defineProjection<{ readonly count: number }>({
 *   name: "tool-runs",
 *   version: 1,
 *   follows: "log",
 *   schema: z.object({ count: z.number() }),
 *   initial: { count: 0 },
 *   on: { "tool.started": ({ count }) => ({ count: count + 1 }) },
 * });
 * @throws TurnlogError `INVALID_INPUT` for an unknown key, and if `on` names an event that is neither turnlog's
 * nor one of `events`
 */
export function defineProjection<State extends object, Schemas extends EventSchemas = NoEvents>(
  definition: ProjectionDefinition<State, Schemas>,
): Projection<State> {
  const { on, events, name, version, follows, schema, initial } = definition;
  const unknown = Object.keys(definition).find((key) => !Object.hasOwn(keys, key));
  if (unknown !== undefined)
    throw invalid(
      unknown,
      `the projection ${name} has the unknown key \`${unknown}\`. Known here: ${Object.keys(keys).join(", ")}.`,
    );
  for (const type of Object.keys(on)) {
    const isKnown = Object.hasOwn(eventSchemas, type) || type === "unknown";
    if (isKnown || Object.hasOwn(events?.schemas ?? {}, type)) continue;
    throw invalid(
      `on.${type}`,
      `the projection ${name} folds ${JSON.stringify(type)}, but there is no such event. Events of your program come with \`events\`.`,
    );
  }
  // All sessions share the initial state.
  deepFreeze(initial);
  // The compiler cannot relate an event's type to its transition's.
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion
  const transitions = on as Readonly<
    Partial<Record<string, (state: State, event: object) => State>>
  >;
  return {
    name,
    version,
    follows,
    schema,
    initial,
    // Not through the store, whose transition takes three times as long.
    fold: (state, event) => {
      const transition = transitions[event.type];
      if (transition === undefined) return state;
      // Only `events` have names of the program's own. Most projections have none, and deltas are many.
      if (events === undefined || !isAppEvent(event)) return transition(state, event);
      const parsed = events.parse(event);
      return parsed === undefined ? state : transition(state, parsed);
    },
  };
}

function invalid(option: string, why: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", `defineProjection: ${why}`, { details: { option } });
}
