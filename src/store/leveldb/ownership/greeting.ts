/** The greeting: the first line on an owner's socket names the owner and the protocol's version. */

import { z } from "zod";

/** Later versions only add fields. What follows the greeting may change with the version. */
const PROTOCOL = "turnlog/1";

export interface Greeting {
  readonly protocol: string;
  readonly pid: number;
  readonly host: string;
  readonly boot: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Unique for each opening. */
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

export function readGreeting(line: string): Greeting | undefined {
  try {
    return greetingSchema.safeParse(JSON.parse(line), { jitless: true }).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}
