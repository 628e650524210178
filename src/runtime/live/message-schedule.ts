/** When a message is to be delivered, as callers say it: times that have passed mean now. Pure. */

import type { Delivery, SessionEvent } from "../../events/index.ts";
import type { Schedule } from "../session/commands.ts";
import type { ScheduleOptions } from "../api/session-options.ts";

/** The time in epoch milliseconds; undefined if it has passed. */
export function laterThan(now: number, time: Date | string): number | undefined {
  const notBefore = new Date(time).getTime();
  return notBefore > now ? notBefore : undefined;
}

export function scheduleOf(to: Delivery | ScheduleOptions, now: number): Schedule {
  if (typeof to === "string") return { delivery: to };
  const { delivery, notBefore } = to;
  return notBefore === undefined
    ? { delivery }
    : { delivery, notBefore: laterThan(now, notBefore) ?? "now" };
}

/** The events after which a session may have other messages for later. */
export const laterEvents: ReadonlySet<SessionEvent["type"]> = new Set<SessionEvent["type"]>([
  "message.queued",
  "message.rescheduled",
  "message.withdrawn",
  "session.closed",
]);
