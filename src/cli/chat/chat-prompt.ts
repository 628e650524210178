/** Asks the person at the terminal about a call. Loads the prompts, so only who asks loads this file's imports. */

import { isCancel, selectKey, settings, text } from "@clack/prompts";
import { questionScreen, visibleName } from "../output/index.ts";
import type { Answer } from "./chat-line.ts";
import type { AskApproval, Asked } from "./turn-view.ts";

// Escape is pressed by mistake, Ctrl-D to leave: the prompts see it the other way round.
settings.aliases.delete("escape");
settings.aliases.set("\u0004", "cancel");

const answers = {
  y: { approved: true, always: false },
  n: { approved: false, always: false },
  a: { approved: true, always: true },
  v: { approved: false, always: true },
} as const satisfies Readonly<Record<string, Answer>>;

/** Yes, no and why, always or never for the tool in this session. */
export const askApproval: AskApproval = async ({ call, toolName }, signal) => {
  const common = { withGuide: false, output: questionScreen, signal };
  const key = await selectKey<keyof typeof answers>({
    ...common,
    message: `Run ${visibleName(call)} ?`,
    initialValue: "n",
    options: [
      { value: "y", label: "yes" },
      { value: "n", label: "no" },
      { value: "a", label: `always run ${visibleName(toolName)} in this session` },
      { value: "v", label: `never run ${visibleName(toolName)} in this session` },
    ],
  });
  if (isCancel(key)) return { kind: "left" };
  const answer = answers[key];
  if (answer.approved) return { kind: "answered", answer };
  const why = await text({
    ...common,
    message: "Why? The model is told.",
    placeholder: "(nothing)",
  });
  return isCancel(why) ? { kind: "left" } : answered(answer, why);
};

function answered(answer: Answer, why: string | undefined): Asked {
  const reason = why?.trim() ?? "";
  return { kind: "answered", answer: reason === "" ? answer : { ...answer, reason } };
}
