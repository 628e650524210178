/** What a life of the service is told, and what it tells. */

import { z } from "zod";

export const servicePlan = z.object({
  /** The folder of the store, the read model and the notes. */
  dir: z.string(),
  tenants: z.int(),
  /** Sessions 0 to `to` - 1 are served. */
  to: z.int(),
  /** The number of the life. */
  life: z.int(),
  /** Events of the read model after which it kills itself. */
  dieAfter: z.int().exactOptional(),
});
export type ServicePlan = z.infer<typeof servicePlan>;

/** What a life found when it began. */
export const lifeSchema = z.object({
  life: z.int(),
  /** Epoch milliseconds. */
  startedAt: z.number(),
  resumed: z.int(),
  scheduled: z.int(),
  failed: z.array(z.string()),
  /** CPU until everything in mid-turn was at rest again, its turns included. */
  cpuMs: z.number(),
});
export type Life = z.infer<typeof lifeSchema>;

/** A message for later whose time has come: when its life began, and the CPU that it had taken by then. */
export const dueSchema = z.object({
  session: z.string(),
  position: z.int(),
  startedAt: z.number(),
  cpuMs: z.number(),
});
export type Due = z.infer<typeof dueSchema>;

/** A row of the read model: global position, session, position, type, and the messages that it delivers. */
export const modelRow = z.tuple([
  z.int(),
  z.string(),
  z.int(),
  z.string(),
  z.array(z.string()).readonly(),
]);

export function sessionOf(n: number): string {
  return `s-${n}`;
}

export function tenantOf(n: number, tenants: number): string {
  return `t-${n % tenants}`;
}
