/** Asks the person at the terminal whether something is meant that nothing brings back. */

import { confirm, settings } from "@clack/prompts";
import { questionScreen, visibleText } from "../output/index.ts";

// Ctrl-D would end the prompt without an answer, and the process with it.
settings.aliases.set("\u0004", "cancel");

/** Whether the answer was yes; leaving it by Ctrl-C, Ctrl-D or Escape is a no. */
export async function isConfirmed(message: string): Promise<boolean> {
  const answer = await confirm({
    message: visibleText(message),
    initialValue: false,
    withGuide: false,
    output: questionScreen,
  });
  // A symbol where it was left.
  return answer === true;
}
