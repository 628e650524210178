/**
 * What a whole prompt has in tokens. Of one that only adds to the prompt before it, the rest is
 * remembered: a step's estimate costs what is new, and a comparison for each older message.
 */

import type { ModelMessage } from "ai";
import { addSize, noSize, type MessageSize, type Meter } from "./message-size.ts";

interface Measured {
  readonly messages: readonly ModelMessage[];
  readonly size: MessageSize;
}

/** The newest prompt that began with a message, by who measured it. */
const prompts = new WeakMap<ModelMessage, WeakMap<Meter, Measured>>();

const nothing: Measured = { messages: [], size: noSize };

/** The sum of the sizes of all messages. */
export function promptSize(messages: readonly ModelMessage[], measure: Meter): MessageSize {
  const [first] = messages;
  if (first === undefined) return noSize;
  const known = prompts.get(first) ?? new WeakMap<Meter, Measured>();
  prompts.set(first, known);
  const before = known.get(measure) ?? nothing;
  const start = isBeginning(before.messages, messages) ? before : nothing;
  let { size } = start;
  for (let index = start.messages.length; index < messages.length; index++) {
    const message = messages[index];
    if (message !== undefined) size = addSize(size, measure.message(message));
  }
  known.set(measure, { messages, size });
  return size;
}

function isBeginning(earlier: readonly ModelMessage[], later: readonly ModelMessage[]): boolean {
  if (earlier.length > later.length) return false;
  for (let index = earlier.length - 1; index >= 0; index--) {
    if (earlier[index] !== later[index]) return false;
  }
  return true;
}
