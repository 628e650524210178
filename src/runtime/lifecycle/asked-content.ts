/** The content and the messages of a step whose calls wait for people, as the AI SDK has them. Pure. */

import type { StepResult, ToolSet } from "ai";
import type { Approval } from "../../state/index.ts";

type Result = StepResult<ToolSet>;
type Content = Result["content"][number];
type Messages = Result["response"]["messages"];

type Asked = Pick<Approval, "approvalId" | "callId">;

/** Each question follows its call. */
export function withQuestions(
  content: readonly Content[],
  asked: readonly Asked[],
): readonly Content[] {
  return content.flatMap((part) => {
    const approvalId = part.type === "tool-call" ? questionOf(part.toolCallId, asked) : undefined;
    if (part.type !== "tool-call" || approvalId === undefined) return [part];
    return [part, { type: "tool-approval-request", approvalId, toolCall: part }];
  });
}

/** The calls that wait have questions, and no results. */
export function askingMessages(messages: Messages, asked: readonly Asked[]): Messages {
  if (asked.length === 0) return messages;
  return messages.flatMap((message): Messages => {
    if (message.role === "assistant") {
      if (typeof message.content === "string") return [message];
      const content = message.content.flatMap((part) => {
        const id = part.type === "tool-call" ? questionOf(part.toolCallId, asked) : undefined;
        if (part.type !== "tool-call" || id === undefined) return [part];
        const { toolCallId } = part;
        return [part, { type: "tool-approval-request" as const, approvalId: id, toolCallId }];
      });
      return [{ ...message, content }];
    }
    const content = message.content.filter(
      (part) => part.type !== "tool-result" || questionOf(part.toolCallId, asked) === undefined,
    );
    return content.length === 0 ? [] : [{ ...message, content }];
  });
}

function questionOf(callId: string, asked: readonly Asked[]): string | undefined {
  return asked.find((one) => one.callId === callId)?.approvalId;
}
