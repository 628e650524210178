import type { ModelMessage } from "ai";
import { SentMessages } from "../../src/context/index.ts";
import type { ModelName } from "../../src/events/index.ts";

/** A single prompt with the call ids that the model is sent. */
export function withCallIds(
  messages: readonly ModelMessage[],
  model: ModelName | undefined,
): readonly ModelMessage[] {
  return new SentMessages(model).messagesToSend(messages);
}
