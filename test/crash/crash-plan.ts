/** What a process of the kill tests is told to do, handed over as JSON on its command line. */

import { join } from "node:path";
import { z } from "zod";

export interface CrashPlan {
  /** The folder of the store. */
  readonly store: string;
  /** Where tools note their work, and where model calls are noted: outside the store. */
  readonly works: string;
  readonly calls: string;
  /** Where a consumer of all sessions notes the events that it got: outside the store. */
  readonly consumed: string;
  readonly session: string;
  /** Different for each process: names its messages and seeds what it does. */
  readonly process: string;
  /** How many turns its user takes. */
  readonly turns: number;
  /** The position from which on events are shown. */
  readonly from: number;
  readonly durability: "sync" | "os";
  readonly recovery: "stop" | "continue";
  readonly stepSource: "language-model-call" | "stream-text";
  /** The most tokens that the session may use. */
  readonly limit?: number;
  /** A place in the code at which the process kills itself; without it, the parent does it. */
  readonly die?: Death;
}

export interface Death {
  readonly at: Place;
  /** The number of the time that it comes there. */
  readonly after: number;
  /** At `append`, `written` and `shown`, only events count whose JSON has this text. */
  readonly of?: string;
}

/**
 * `append`: an event has been handed to the log and is not written yet. `written`: it is written, and
 * none after it. `work`: a tool has done its work and not returned. `call`: the model is being called.
 * `parse`: the output is being read from the reply. `shown`: an event has been shown.
 */
export type Place = (typeof places)[number];
const places = ["append", "written", "work", "call", "parse", "shown"] as const;

export const crashPlanSchema: z.ZodType<CrashPlan> = z.object({
  store: z.string(),
  works: z.string(),
  calls: z.string(),
  consumed: z.string(),
  session: z.string(),
  process: z.string(),
  turns: z.int(),
  from: z.int(),
  durability: z.enum(["sync", "os"]),
  recovery: z.enum(["stop", "continue"]),
  stepSource: z.enum(["language-model-call", "stream-text"]),
  limit: z.int().exactOptional(),
  die: z
    .object({ at: z.enum(places), after: z.int(), of: z.string().exactOptional() })
    .exactOptional(),
});

/** One line of what such a process tells while it lives. */
export type Told =
  /** An event that a user was shown, by `events()` or by the turn's own iterator. */
  | { readonly told: "shown"; readonly event: { readonly position: number } }
  /** A message that `send` accepted. */
  | { readonly told: "accepted"; readonly id: string }
  /** A call for whose output `answerCall` was thanked. */
  | { readonly told: "answered"; readonly step: number; readonly callId: string }
  /** An event of the program that `append` appended. */
  | { readonly told: "noted"; readonly position: number }
  /** A message that `withdraw` took back. */
  | { readonly told: "withdrawn"; readonly id: string }
  /** The turn of a message has ended. */
  | { readonly told: "ended"; readonly id: string; readonly reason: string };

export const toldSchema: z.ZodType<Told> = z.discriminatedUnion("told", [
  z.object({ told: z.literal("shown"), event: z.looseObject({ position: z.int() }) }),
  z.object({ told: z.literal("accepted"), id: z.string() }),
  z.object({ told: z.literal("answered"), step: z.int(), callId: z.string() }),
  z.object({ told: z.literal("noted"), position: z.int() }),
  z.object({ told: z.literal("withdrawn"), id: z.string() }),
  z.object({ told: z.literal("ended"), id: z.string(), reason: z.string() }),
]);

/** Where the processes of a test keep what they leave. */
export function placesIn(home: string): Pick<CrashPlan, "store" | "works" | "calls" | "consumed"> {
  const [store, works, calls] = [join(home, "store"), join(home, "works"), join(home, "calls")];
  return { store, works, calls, consumed: join(home, "consumed") };
}
