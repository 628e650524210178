/** The state of the session machine at a position. Pure. */

import { entriesOf } from "../../events/index.ts";
import type { SessionView } from "../../state/index.ts";
import { contentText, excerpt } from "../wording/index.ts";
import { visibleName } from "../output/index.ts";

/** The state with its waiting messages and open calls, as a JSON value. */
export function stateValue({ session, position, state, queue, toolCalls }: SessionView): object {
  return {
    session,
    position,
    ...state,
    queue,
    openCalls: toolCalls.filter((call) => call.endedAt === undefined),
  };
}

export function stateLines({ session, position, state, queue }: SessionView): readonly string[] {
  const { value, context } = state;
  const { turn, step, attempt, stepsInTurn, maxSteps, held, finishReason, stopping } = context;
  const lines = [
    `${session} at ${position}: ${nameOf(value)}`,
    `turn ${turn}, step ${step}${attempt > 1 ? ` (attempt ${attempt})` : ""}`,
  ];
  if (maxSteps > 0) {
    const most = maxSteps < Number.MAX_SAFE_INTEGER ? `at most ${maxSteps}` : "any number of";
    lines.push(`${stepsInTurn} of ${most} steps in this turn`);
  }
  if (finishReason !== undefined)
    lines.push(`the last step finished: ${visibleName(finishReason)}`);
  if (stopping !== undefined) lines.push(`the turn is stopping: ${stopping}`);
  for (const [callId, call] of entriesOf(context.calls))
    lines.push(`call ${visibleName(callId)}: ${call}`);
  for (const { delivery, content } of queue) {
    lines.push(`waiting (${delivery}): ${excerpt(contentText(content), 80)}`);
  }
  if (held && queue.length > 0) lines.push("the waiting messages start no turn by themselves");
  return lines;
}

/** `streaming.calling` */
function nameOf(value: SessionView["state"]["value"]): string {
  return typeof value === "string" ? value : Object.entries(value).flat().join(".");
}
