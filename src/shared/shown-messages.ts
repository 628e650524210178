/** The prompt as a tool is shown it, by the AI SDK's rules: a copy of its own, made when it is looked at. */

import type { ModelMessage } from "ai";
import { ownCopy } from "../events/index.ts";

/** Options of a tool's callback with the messages of the prompt. Most tools never look at them. */
export function withMessages<Options extends object>(
  options: Options,
  messages: readonly ModelMessage[],
): Options & { messages: ModelMessage[] } {
  let own: ModelMessage[] | undefined;
  return Object.defineProperty(
    // The property follows at once.
    // oxlint-disable-next-line typescript/no-unsafe-type-assertion
    options as Options & { messages: ModelMessage[] },
    "messages",
    {
      configurable: true,
      enumerable: true,
      get: () => (own ??= ownCopy([...messages])),
      set: (given: ModelMessage[]) => {
        own = given;
      },
    },
  );
}
