// Parts without what changes from run to run (times, ports, ids that a client made up), so that two runs over
// the same recorded stream can be compared with `toEqual`. Everything that the provider sent stays.
import { z } from "zod";

interface AnyPart {
  readonly type: string;
}

// `generateId` of the SDK: 16 letters and digits; of `streamText`: a prefix and 24. No provider's ids look so.
const madeUpId = z.string().regex(/^([A-Za-z0-9]{16}|aitxt-[A-Za-z0-9]{24}|made-up-\d+)$/);

const idKeys = new Set(["id", "toolCallId", "approvalId"]);

// `request` names the port, `performance` and `headers` the time; `timestamp` is the clock where none was sent.
const changingKeys = new Set(["request", "performance", "headers", "timestamp"]);

/** Plain JSON of the parts: made-up ids numbered by first appearance, errors as `name: message`. */
export function comparableParts(parts: readonly AnyPart[]): readonly unknown[] {
  const numbers = new Map<string, number>();
  const comparable = (part: AnyPart): string =>
    JSON.stringify(part, (key, value: unknown) => {
      if (value instanceof Error) return `${value.name}: ${value.message}`;
      if (part.type.endsWith("-step") && changingKeys.has(key)) return undefined;
      const id = idKeys.has(key) ? madeUpId.safeParse(value) : undefined;
      if (!id?.success) return value;
      const number = numbers.get(id.data) ?? numbers.size + 1;
      numbers.set(id.data, number);
      return `made up ${number}`;
    });
  return parts.map((part): unknown => JSON.parse(comparable(part)));
}
