/** Carries out the commands about the prompt: `/context`, `/preview`, `/compact`, `/restore`. */

import { TurnlogError } from "../../../events/index.ts";
import type { CompactionPreview } from "../../../runtime/index.ts";
import type { ChatSession } from "../host/chat-session.ts";
import { contextLines } from "../../wording/context-drawing.ts";
import { fromTo } from "../../wording/context-words.ts";
import { amount, excerpt } from "../../wording/wording.ts";
import type { ContextLine } from "../line/chat-line.ts";
import { strategyOf } from "../line/compaction-ways.ts";
import type { ConversationState } from "../screen/conversation-state.ts";
import { hint, type Outcome } from "./command-outcome.ts";

/** Messages that a preview lists one by one. */
const PREVIEW_MESSAGES = 8;

export async function carryOutContext(
  line: ContextLine,
  session: ChatSession,
  { activity }: ConversationState,
  columns: number,
): Promise<Outcome> {
  switch (line.kind) {
    case "context":
      return { kind: "lines", lines: contextLines(await session.context(), columns) };
    case "preview": {
      const compact = line.how === undefined ? {} : { compact: strategyOf(line.how) };
      return { kind: "lines", lines: previewLines(await session.preview(compact), columns) };
    }
    case "compact":
    case "restore": {
      const running = activity === "compacting" ? "A compaction" : "A turn";
      if (activity !== "idle") {
        return hint(`${running} is running: /${line.kind} when it has ended; Esc cancels it.`);
      }
      try {
        if (line.kind === "restore") await session.restore(line.position);
        else await session.compact(line.how && strategyOf(line.how));
      } catch (error) {
        if (!TurnlogError.isInstance(error) || error.code !== "COMMAND_REFUSED") throw error;
        return hint(error.message);
      }
      // The screen shows the event.
      return { kind: "done" };
    }
  }
}

function previewLines(preview: CompactionPreview, columns: number): readonly string[] {
  const { strategy, position, outcome, plan, prompt, beforeTokens, afterTokens } = preview;
  if (outcome === "failed") return [`${strategy} would fail here. Nothing was written.`];
  if (plan === undefined) {
    return [`${strategy} would save less than a tenth. Nothing was written.`];
  }
  const saved = Math.round((1 - afterTokens / Math.max(1, beforeTokens)) * 100);
  const { covers, summary } = plan;
  const replacement = summary === "" ? "nothing" : amount(summary.length, "character");
  const left = prompt.length - PREVIEW_MESSAGES;
  const first = left > 0 ? prompt.slice(0, PREVIEW_MESSAGES / 2) : prompt;
  const last = left > 0 ? prompt.slice(-PREVIEW_MESSAGES / 2) : [];
  const rows = (messages: typeof prompt): readonly string[] =>
    messages.map(({ role, content }) => {
      const text = typeof content === "string" ? content : content.map(partText).join(" ");
      return `  ${role.padEnd(9)} ${excerpt(text, Math.max(20, columns - 14))}`;
    });
  return [
    `${strategy} at ${position}: ${fromTo(beforeTokens, afterTokens)} (${saved} % less). Nothing was written.`,
    `Positions ${covers.from} to ${covers.to} would be replaced by ${replacement}; the model would see ${amount(prompt.length, "message")}:`,
    ...rows(first),
    ...(left > 0 ? [`  … ${amount(left, "message")} more`] : []),
    ...rows(last),
  ];
}

type Part = Exclude<CompactionPreview["prompt"][number]["content"], string>[number];

function partText(part: Part): string {
  switch (part.type) {
    case "text":
    case "reasoning":
      return part.text;
    case "tool-call":
    case "tool-result":
      return `[${part.type} ${part.toolName}]`;
    default:
      return `[${part.type}]`;
  }
}
