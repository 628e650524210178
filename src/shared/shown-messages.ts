/** The prompt's messages for a tool's callback, as the AI SDK passes them: a copy, made on first access. */

import type { ModelMessage } from "ai";
import { ownCopy } from "../events/index.ts";

/** Most tools never read them. */
export function withMessages<Options extends object>(
  options: Options,
  messages: readonly ModelMessage[],
): Options & { messages: ModelMessage[] } {
  let own: ModelMessage[] | undefined;
  return Object.defineProperty(
    // The property is defined here.
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
