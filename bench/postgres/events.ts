/** Events of the benchmark: each delta in a block of its own, so that the log does not merge it with others. */

import type { NewEvent } from "../../src/events/index.ts";

export function alone(number: number): NewEvent<"part.text-delta"> {
  const data = { id: `${number}`, text: `text ${number}` };
  return { type: "part.text-delta", time: 1000 + number, data };
}

export function aloneFrom(first: number, count: number): readonly NewEvent[] {
  return Array.from({ length: count }, (_, index) => alone(first + index));
}
