/** Asks the person at the terminal one question, which a typed line answers. */

import { addAbortListener } from "node:events";
import { createInterface } from "node:readline/promises";
import { UsageError } from "./error-report.ts";
import { questionScreen, type Channel } from "./output.ts";
import { visibleText } from "./visible-text.ts";

/** Undefined if the person leaves with Ctrl-C or Ctrl-D, or the signal aborts. `question` is made visible here. */
export async function askLine(question: string, signal?: AbortSignal): Promise<string | undefined> {
  const left = new AbortController();
  const reader = createInterface({ input: process.stdin, output: questionScreen });
  reader.on("SIGINT", () => left.abort()).on("close", () => left.abort());
  // Not by `shared`: every command loads this file, and `--help` needs nothing of what that loads.
  using _ = signal && addAbortListener(signal, () => left.abort());
  const unanswered = left.signal;
  try {
    return await reader.question(`${visibleText(question)} `, { signal: unanswered });
  } catch (error) {
    if (!unanswered.aborted) throw error;
    questionScreen.write("\n");
    return undefined;
  } finally {
    reader.close();
  }
}

/** Whether the answer is yes. Any other answer means no, and so does leaving. */
export async function isConfirmed(question: string): Promise<boolean> {
  const answer = await askLine(`${question} (y/N)`);
  return /^y(es)?$/i.test(answer?.trim() ?? "");
}

/** @throws UsageError without a terminal: `what` was not done, and `how` names the option to add */
export function assertCanConfirm({ isTerminal }: Channel, what: string, how: string): void {
  if (process.stdin.isTTY && isTerminal) return;
  throw new UsageError(
    `${what}: this needs a confirmation, and there is no terminal to ask for it. ${how}`,
  );
}
