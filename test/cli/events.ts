/** Events as the command line prints them, parsed back. */
import { z } from "zod";
import { eventSchemas, type EventType } from "../../src/events/index.ts";

type KnownType = Exclude<EventType, "unknown" | `app.${string}`>;

const types = Object.keys(eventSchemas) as KnownType[];

interface PrintedEvent {
  /** Told where a turn is printed while it runs. */
  readonly session?: string;
  readonly position: number;
  readonly time: number;
  readonly type: KnownType;
  readonly data: Readonly<Record<string, unknown>>;
}

const eventSchema: z.ZodType<PrintedEvent> = z.strictObject({
  session: z.string().exactOptional(),
  position: z.int().positive(),
  time: z.number(),
  type: z.enum(types),
  data: z.looseObject({}),
});

/** Fails on a value that has not the form of an event. */
export function readEvents(values: readonly unknown[]): readonly PrintedEvent[] {
  return z.array(eventSchema).parse(values);
}
