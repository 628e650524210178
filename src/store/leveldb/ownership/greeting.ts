/** The first line on an owner's socket: who has the store, and in which version it speaks. */

import { z } from "zod";

/** A later version only adds fields; what follows the greeting may change with it. */
const PROTOCOL = "turnlog/1";

export interface Greeting {
  readonly protocol: string;
  readonly pid: number;
  readonly host: string;
  readonly boot: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Tells one opening from every other. */
  readonly nonce: string;
}

const greetingSchema: z.ZodType<Greeting> = z.object({
  protocol: z.string().startsWith("turnlog/"),
  pid: z.int().positive(),
  host: z.string(),
  boot: z.string(),
  startedAt: z.string(),
  nonce: z.string(),
});

export function greetingOf(owner: Omit<Greeting, "protocol">): Greeting {
  const { pid, host, boot, startedAt, nonce } = owner;
  return { protocol: PROTOCOL, pid, host, boot, startedAt, nonce };
}

export function greetingLine(greeting: Greeting): string {
  return `${JSON.stringify(greeting)}\n`;
}

/** Undefined for anything that is no greeting. */
export function readGreeting(line: string): Greeting | undefined {
  try {
    return greetingSchema.safeParse(JSON.parse(line), { jitless: true }).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
