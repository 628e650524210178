/** The state of the session machine at a position. Pure. */

import { entriesOf } from "../../events/index.ts";
import type { SessionView } from "../../state/index.ts";
import { contentText, excerpt } from "../wording/wording.ts";
import { visibleName } from "../output/visible-text.ts";

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

export function stateLines(view: SessionView): readonly string[] {
  const { session, position, state, queue } = view;
  const { value, context } = state;
  const { turn, step, attempt, stepsInTurn, maxSteps, held, finishReason, stopping } = context;
  const lines = [
    ...linkedLines(view),
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

/** The session whose call this one runs, and the sessions that run its own calls. */
export function linkedLines({ summary: { parent }, toolCalls }: SessionView): readonly string[] {
  const lines = toolCalls.flatMap(({ child, toolName, step, status }) =>
    child === undefined
      ? []
      : [`sub-agent ${child}: ${visibleName(toolName)}, step ${step}, ${status}`],
  );
  if (parent !== undefined)
    lines.unshift(
      `sub-agent of ${parent.session}: ${visibleName(parent.toolName)}, step ${parent.step}`,
    );
  return lines.length === 0 ? [] : [...lines, ""];
}

/** `streaming.calling` */
function nameOf(value: SessionView["state"]["value"]): string {
  return typeof value === "string" ? value : Object.entries(value).flat().join(".");
}
