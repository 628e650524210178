/** Asks the person at the terminal. Loads the prompts, so only a chat in a terminal loads this file's imports. */

import { confirm, isCancel, settings, text } from "@clack/prompts";

/** What was typed, or that the person wants out (Ctrl-C, Ctrl-D). */
export type Answer<Value> =
  | { readonly kind: "answer"; readonly value: Value }
  | { readonly kind: "left" };

// Escape is pressed by mistake, Ctrl-D to leave: the prompts see it the other way round.
settings.aliases.delete("escape");
settings.aliases.set("\u0004", "cancel");

/**
 * @param typedAhead - Stands in the line already.
 * @param signal - Takes the question back.
 */
export async function askMessage(typedAhead: string, signal: AbortSignal): Promise<Answer<string>> {
  const typed = await text({
    message: "You",
    initialValue: typedAhead,
    placeholder: "Ask about this folder. Ctrl-C leaves.",
    validate: (value) => (value?.trim() ? undefined : "Type a message, or press Ctrl-C to leave."),
    withGuide: false,
    output: process.stderr,
    signal,
  });
  return isCancel(typed) ? { kind: "left" } : { kind: "answer", value: typed.trim() };
}

/** @param signal - Takes the question back. */
export async function askApproval(call: string, signal: AbortSignal): Promise<Answer<boolean>> {
  const answered = await confirm({
    message: `Run ${call} ?`,
    initialValue: false,
    withGuide: false,
    output: process.stderr,
    signal,
  });
  return isCancel(answered) ? { kind: "left" } : { kind: "answer", value: answered };
}
