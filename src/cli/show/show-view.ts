/** Views of `turnlog show` on a position: the state of the machine, the prompt and the tokens, as lines of text. Pure. */

import { entriesOf } from "../../events/index.ts";
import type { SessionView, SubAgents } from "../../state/index.ts";
import {
  contentText,
  excerpt,
  amount,
  indented,
  shortened,
  shortenedJson,
  usualLengths,
  type Lengths,
  figure,
  linesOf,
  tokens,
} from "../wording/wording.ts";
import { dollars } from "../wording/bill-words.ts";
import { visibleName, visibleText } from "../output/visible-text.ts";
import type { Channel } from "../output/output.ts";
import { indentedText, ownSteps, type PromptText } from "../../projections/index.ts";

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
  const most = maxSteps < Number.MAX_SAFE_INTEGER ? `at most ${maxSteps}` : "any number of";
  return linesOf(
    linkedLines(view),
    `${session} at ${position}: ${nameOf(value)}`,
    `turn ${turn}, step ${step}${attempt > 1 ? ` (attempt ${attempt})` : ""}`,
    maxSteps > 0 && `${stepsInTurn} of ${most} steps in this turn`,
    finishReason && `the last step finished: ${visibleName(finishReason)}`,
    stopping && `the turn is stopping: ${stopping}`,
    entriesOf(context.calls).map(([callId, call]) => `call ${visibleName(callId)}: ${call}`),
    queue.map(
      ({ delivery, content }) => `waiting (${delivery}): ${excerpt(contentText(content), 80)}`,
    ),
    held && queue.length > 0 && "the waiting messages do not start a turn on their own",
  );
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

type Message = SessionView["prompt"]["messages"][number];
type Part = Exclude<Message["content"], string>[number];

/** What the next step would send. */
export function promptLines(
  { prompt: { instructions, tools, settings, messages } }: SessionView,
  data: Channel,
  lengths: Lengths = usualLengths,
): readonly string[] {
  const part = (name: string, text: string): readonly string[] => [
    data.style("bold", name),
    ...indented(visibleText(shortened(text, lengths.text))),
    "",
  ];
  const beside = [
    ...(instructions.text === "" ? [] : part("instructions", wordsOf(instructions))),
    ...tools.flatMap((tool) => part(`tool ${visibleName(tool.name)}`, wordsOf(tool))),
    ...(settings === undefined || Object.keys(settings).length === 0
      ? []
      : part("settings", JSON.stringify(settings, undefined, 2))),
  ];
  const lines = messages.flatMap((message) => [
    data.style("bold", message.role),
    ...messageLines(message, data, lengths),
    "",
  ]);
  const size = amount(JSON.stringify(messages).length, "character");
  const count = `${amount(tools.length, "tool")}, ${amount(messages.length, "message")}`;
  return [...beside, ...lines, data.style("dim", `${count}, ${size} of JSON`)];
}

function wordsOf({ digest, text }: PromptText): string {
  if (text !== undefined) return indentedText(text);
  return digest === undefined
    ? "not recorded: an earlier release ran the session"
    : `digest only: ${digest}, as an earlier release ran the session`;
}

export function messageLines(
  { content }: Message,
  data: Channel,
  lengths: Lengths = usualLengths,
): readonly string[] {
  const text =
    typeof content === "string"
      ? shortened(content, lengths.text)
      : content.map((part) => partText(part, lengths)).join("\n");
  return indented(visibleText(text));
}

function partText(part: Part, { text, value }: Lengths): string {
  switch (part.type) {
    case "text":
      return shortened(part.text, text);
    case "reasoning":
      return `(reasoning) ${shortened(part.text, text)}`;
    case "tool-call":
      return `(call ${visibleName(part.toolCallId)}) ${visibleName(part.toolName)} ${shortenedJson(part.input, value)}`;
    case "tool-result":
      return `(result ${visibleName(part.toolCallId)}) ${visibleName(part.toolName)} ${shortenedJson(part.output, value)}`;
    default:
      return `(${part.type}) ${shortenedJson(part, value)}`;
  }
}

/** The tokens of a session, step by step. */
export function usageValue(
  { session, position, usage }: SessionView,
  { subAgents, total, totalCost }: SubAgents,
): object {
  return {
    session,
    position,
    ...usage,
    ...(subAgents.length === 0
      ? {}
      : { subAgents, withSubAgents: total, costWithSubAgents: totalCost }),
  };
}

/** The sub-agents, each apart, those below indented; then all together. */
export function subAgentLines({ subAgents, total, totalCost }: SubAgents): readonly string[] {
  if (subAgents.length === 0) return [];
  const linesOf = ({ subAgents: below }: Pick<SubAgents, "subAgents">): readonly string[] =>
    below.flatMap((one) => [
      `sub-agent ${visibleName(one.session)}  step ${one.step}  ${one.status}  ${tokens(one.own)} · ${dollars(one.cost)}`,
      ...linesOf(one).map((line) => `  ${line}`),
    ]);
  return [...linesOf({ subAgents }), `with sub-agents: ${tokens(total)} · ${dollars(totalCost)}`];
}

export function usageLines({ usage }: SessionView): readonly string[] {
  const { steps, running, total, inherited } = usage;
  const own = ownSteps(usage);
  return linesOf(
    steps.map(
      ({ turn, step, model, usage: spent }) =>
        `turn ${turn}  step ${step}  ${tokens(spent)}  ${visibleName(`${model.provider}:${model.modelId}`)}`,
    ),
    running &&
      `turn ${running.turn}  step ${running.step}  running, ~${figure(running.estimate.tokens)} in`,
    `${amount(own.length, "step")}: ${tokens(total)}`,
    inherited &&
      `before it branched off, ${amount(steps.length - own.length, "step")}: ${tokens(inherited.total)}`,
    total.basis === "estimated" &&
      "~ marks estimates: for at least one step the provider reported no usage",
  );
}
