/** The part of {@link Session} for the user's own events and projections. */

import type { Projection } from "../../projections/index.ts";
import type { AppendOptions, PositionOptions, RestOptions } from "../../commands/index.ts";
import type { Projected } from "../../state/index.ts";
import type { AppEventInput, AppEventType, EventSchemas } from "../../events/index.ts";

/** The place of an appended event. */
interface AppendedEvent {
  readonly position: number;
  /** True if the session had an event of this id with the same type and data: nothing was appended. */
  readonly repeated: boolean;
}

export interface ProgramEvents<Events extends EventSchemas> {
  /**
   * Appends an event of your program to the log in any state of the session, even while a turn runs or waits or
   * the context is being compacted. The event is durable when this resolves. Subscribers and your projections see
   * it; the model does not. Like every event it is encrypted, redacted, exported and shared with forks, and
   * belongs to a branch.
   * @param type - A name of `createRuntime({ events })`.
   * @param data - Must fit the event's schema; at most 1 MiB of JSON. Stored as it is given.
   * @throws TurnlogError `INVALID_INPUT`, `EVENT_ID_CONFLICT`, `SESSION_CLOSED`
   * @example
   * await session.append("app.ticket-opened", { ticket: "T-1" }, { id: "webhook-77" });
   */
  append<Type extends keyof Events & AppEventType>(
    type: Type,
    data: AppEventInput<Events[Type]>,
    options?: AppendOptions,
  ): Promise<AppendedEvent>;
  /**
   * The state of a projection at a position; by default now, with every event that was recorded before the call.
   * It is folded from the log. A snapshot is stored every 2,000 events, and is ignored once the projection has
   * another version. A projection of the branch never sees the events of a branch that was left.
   * @throws TurnlogError `INVALID_INPUT` if the position does not exist, `CALLBACK_FAILED` if the fold throws,
   * `EVENT_INVALID` if an event does not fit its schema
   * @example
   * const { state, position } = await session.project(openTickets);
   */
  project<State extends object>(
    projection: Projection<State>,
    options?: PositionOptions,
  ): Promise<Projected<State>>;
  /**
   * The states of a projection: the present one, then one after each event that changes it, in order and without
   * a gap. After a rewind, a projection of the branch has the state of the branch that is now active. Ends when
   * the signal aborts or the runtime closes. Throws as `project`.
   * @example
   * for await (const { state } of session.follow(openTickets, { signal })) render(state);
   */
  follow<State extends object>(
    projection: Projection<State>,
    options?: RestOptions,
  ): AsyncIterable<Projected<State>>;
}
