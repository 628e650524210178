// What the next prompt would be, and what is wrong with it.
import type { ModelMessage } from "ai";
import { withCallIds } from "../support/call-ids.ts";
import { CUT_OFF_NOTE, promptMessages } from "../../src/projections/index.ts";
import { promptProblems, type PromptProblem } from "../../src/testing/index.ts";
import type { Session } from "./session.ts";

const NEXT = "Next.";

/** After a turn, a user says something first: no prompt ends with the model's own words. */
export function nextPrompt(session: Session): readonly ModelMessage[] {
  const messages = promptMessages(session.history, session.view);
  if (messages.at(-1)?.role !== "assistant") return messages;
  const mark = session.mark();
  session.steer(NEXT);
  const next = promptMessages(session.history, session.view);
  session.back(mark);
  return next;
}

/** What a provider would not accept. */
export function problems(session: Session): readonly PromptProblem[] {
  return promptProblems(withCallIds(nextPrompt(session), undefined));
}

/** What was said, without our notes between two replies and what is added above. */
export function withoutNotes(messages: readonly ModelMessage[]): readonly ModelMessage[] {
  return messages.filter(({ content }) => content !== NEXT && content !== CUT_OFF_NOTE);
}
