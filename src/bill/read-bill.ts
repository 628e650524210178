/** The bill of a stored session, read from its log. */

import { z } from "zod";
import { contextSchema } from "../agent/index.ts";
import {
  modelCatalogue,
  type KnownLimits,
  type ModelCatalogue,
  type WhatIf,
  whatIfSchema,
} from "../context/index.ts";
import { defined, type EventLog } from "../events/index.ts";
import { checkPosition, subAgentsOf, type SubAgent, type SubAgents } from "../state/index.ts";
import { check, optionsOf, position } from "../validation/index.ts";
import { BillFold, type SessionBill } from "./session-bill.ts";

export interface BillOptions {
  /** The last position that counts. Default: now. */
  readonly position?: number;
  /** Asks for a computed bill beside the real one. */
  readonly whatIf?: WhatIf;
}

export interface ReadBillOptions extends BillOptions {
  /** Windows, prices and lifetimes of caches by model, as in the agent's `context.limits`. */
  readonly limits?: NonNullable<KnownLimits["overrides"]>;
  /** The source of windows and prices. Default: `modelCatalogue()`. */
  readonly catalogue?: ModelCatalogue;
}

const schema = optionsOf<ReadBillOptions>(
  { position, whatIf: whatIfSchema, limits: z.unknown(), catalogue: z.unknown() },
  {},
);

export async function readBill(
  log: EventLog,
  session: string,
  options: ReadBillOptions = {},
): Promise<SessionBill> {
  check(schema, options, "readBill", { name: "options", session });
  const { limits, catalogue = await modelCatalogue(), ...asked } = options;
  check(contextSchema, { catalogue, ...defined({ limits }) }, "readBill", {
    name: "options",
    session,
  });
  return await billOf(log, session, { catalogue, ...defined({ overrides: limits }) }, asked);
}

/** The same with known limits and checked options. */
export async function billOf(
  log: EventLog,
  session: string,
  known: KnownLimits,
  { position: to, whatIf }: BillOptions = {},
): Promise<SessionBill> {
  await checkPosition(log, session, to);
  const bill = new BillFold({ known, ...defined({ whatIf }) });
  for await (const event of log.read(session, defined({ to }))) bill.add(event);
  const called = below(await subAgentsOf(log, session, known, bill.state));
  const subAgents = Array.from(called, ({ session: id, step, callId, toolName, cost }) => ({
    session: id,
    step,
    callId,
    toolName,
    cost,
  }));
  return { ...bill.result(), ...(subAgents.length > 0 && { subAgents }) };
}

function* below({ subAgents }: SubAgents): Iterable<SubAgent> {
  for (const one of subAgents) {
    yield one;
    yield* below(one);
  }
}
