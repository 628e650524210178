/** The structured output of a turn: its text, parsed by the `output` of the agent or of the message. */

import type { LanguageModelUsage, OutputInterface } from "ai";
import { textStart, type StoredError } from "../events/index.ts";
import { thing } from "../validation/index.ts";
import { isJson, toStoredError } from "../shared/index.ts";
import type { z } from "zod";

/** The output that a text is, or the error of its parsing. */
export type ParsedOutput<OUTPUT> =
  | { readonly value: OUTPUT; readonly repaired?: true; readonly error?: never }
  | { readonly error: StoredError; readonly value?: never; readonly repaired?: never };

export const outputSchema: z.ZodType = thing(
  "an output of the AI SDK: `Output.object({ schema })`, `array`, `choice`, `json` or `text`",
  (value) =>
    typeof value === "object" &&
    value !== null &&
    "responseFormat" in value &&
    "parseCompleteOutput" in value &&
    typeof value.parseCompleteOutput === "function",
);

export function isStructured(output: OutputInterface | undefined): output is OutputInterface {
  return output !== undefined && output.name !== "text";
}

/** Never throws: an error thrown by the user's schema becomes the reason why the text is no output. */
export async function parsedOutput<OUTPUT, PARTIAL>(
  output: OutputInterface<OUTPUT, PARTIAL>,
  text: string,
): Promise<ParsedOutput<OUTPUT>> {
  try {
    return { value: await output.parseCompleteOutput({ text }, circumstances) };
  } catch (thrown) {
    const repaired = isStructured(output) ? repairedJson(text) : undefined;
    if (repaired !== undefined)
      try {
        const value = await output.parseCompleteOutput({ text: repaired }, circumstances);
        return { value, repaired: true };
      } catch {
        // What is wrong with the text as it was says more.
      }
    return { error: outputError(thrown) };
  }
}

/** The only brackets of a text, from the first to the last: a second pair outside could be meant too. */
const ONLY_BRACKETS = /^[^[\]{}]*([[{].*[\]}])[^[\]{}]*$/s;
/** A text of JSON, or a comma before a closing bracket. */
const TEXT_OR_TRAILING_COMMA = /("[^"\\]*(?:\\.[^"\\]*)*")|,(?=\s*[\]}])/gs;

/**
 * JSON without the code fence or words around it and without trailing commas. Undefined if the text is JSON already,
 * or could be read in two ways.
 */
function repairedJson(text: string): string | undefined {
  const [, inner] = ONLY_BRACKETS.exec(text) ?? [];
  if (inner === undefined || isJson(text)) return undefined;
  const repaired = inner.replace(TEXT_OR_TRAILING_COMMA, "$1");
  return isJson(repaired) ? repaired : undefined;
}

/** The usage of a call of which the provider reported none. */
export const unreportedUsage: LanguageModelUsage = {
  inputTokens: undefined,
  inputTokenDetails: {
    noCacheTokens: undefined,
    cacheReadTokens: undefined,
    cacheWriteTokens: undefined,
  },
  outputTokens: undefined,
  outputTokenDetails: { textTokens: undefined, reasoningTokens: undefined },
  totalTokens: undefined,
};

/** The SDK puts these into its error; the log keeps only the error's name and message. */
const circumstances: Parameters<OutputInterface["parseCompleteOutput"]>[1] = {
  response: { id: "", modelId: "", timestamp: new Date(0) },
  usage: unreportedUsage,
  finishReason: "stop",
};

const MOST_CHARACTERS = 500;

/** The name, the message, and the beginning of the innermost cause, without the text itself. */
function outputError(thrown: unknown): StoredError {
  const { name, message } = toStoredError(thrown);
  const innermost = causeOf(thrown);
  const why = innermost === thrown ? "" : ` ${toStoredError(innermost).message}`;
  return { name, message: `${message}${textStart(why, MOST_CHARACTERS)}` };
}

function causeOf(thrown: unknown): unknown {
  return thrown instanceof Error && thrown.cause instanceof Error ? causeOf(thrown.cause) : thrown;
}
