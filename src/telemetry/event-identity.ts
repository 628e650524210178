/** Where an event of a lifecycle callback happened: in which session, turn and step, at which position. */

import { z } from "zod";

export interface EventIdentity {
  readonly session: string;
  readonly turn: number;
  /** The step that runs, numbered over the whole session; 0 before its first. */
  readonly step: number;
  /** The position of the last event when the callback was called. */
  readonly position: number;
}

const identitySchema = z.object({
  turnlog: z.object({
    session: z.string(),
    turn: z.int(),
    step: z.int(),
    position: z.int(),
  }),
});

/**
 * Where the event of a callback or a telemetry integration happened; undefined if turnlog did not make it.
 * @example
 * const agent: Agent = { model, onEnd: (event) => bill(eventIdentity(event)?.session, event.usage) };
 */
export function eventIdentity(event: unknown): EventIdentity | undefined {
  return identitySchema.safeParse(event).data?.turnlog;
}

/** The attributes of a span; OpenTelemetry has no attribute for turns, steps and positions. */
export interface SpanAttributes {
  readonly [name: string]: string | number;
}

/**
 * The session as attributes of each span: `gen_ai.conversation.id`, `turnlog.turn`, `turnlog.step` and
 * `turnlog.position`. Undefined for spans of other operations of the AI SDK.
 * @example
 * registerTelemetry(new OpenTelemetry({ enrichSpan: sessionAttributes }));
 */
export function sessionAttributes(span: {
  readonly runtimeContext: Record<string, unknown> | undefined;
}): SpanAttributes | undefined {
  const identity = eventIdentity(span.runtimeContext);
  if (identity === undefined) return undefined;
  const { session, turn, step, position } = identity;
  return {
    "gen_ai.conversation.id": session,
    "turnlog.turn": turn,
    ...(step === 0 ? {} : { "turnlog.step": step }),
    "turnlog.position": position,
  };
}
