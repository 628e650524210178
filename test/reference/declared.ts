/** The public types with their docstrings, and which of them each call takes as its options. */

import { declarationsIn, type Member } from "./declarations.ts";

export const declared = declarationsIn(
  [
    "src/commands/*.ts",
    "src/runtime/api/*.ts",
    "src/server/server-options.ts",
    "src/events/ports/*.ts",
  ],
  { ofUnions: true },
);

/** Types of options, by the call that takes them. */
export const optionTypes: readonly (readonly [call: string, type: string])[] = [
  ["createRuntime(options)", "RuntimeOptions"],
  ["runtime.session(id, options)", "OpenSessionOptions"],
  ["session.send(message, options)", "SendOptions"],
  ["session.reschedule(messageId, options)", "ScheduleOptions"],
  ["session.withdraw(messageId, options)", "WithdrawOptions"],
  ["session.cancel(options)", "CancelOptions"],
  ["session.allow(more)", "Allowance"],
  ["session.approve(approvalId, answer)", "ApprovalAnswer"],
  ["session.deny(approvalId, answer)", "ApprovalAnswer"],
  ["session.answerCall(requestId, answer)", "CallAnswer"],
  ["session.rewind(options)", "RewindOptions"],
  ["session.checkout(branch, options)", "MoveOptions"],
  ["session.regenerate(options)", "RegenerateOptions"],
  ["session.fork(options)", "ForkOptions"],
  ["session.rerun(options)", "RerunOptions"],
  ["session.compact(strategy, options)", "CompactOptions"],
  ["session.preview(options)", "PreviewOptions"],
  ["session.configure(changes)", "AgentChanges"],
  ["session.append(type, data, options)", "AppendOptions"],
  ["session.events(options)", "EventsOptions"],
  ["runtime.resumeAll(options)", "ResumeOptions"],
  ["runtime.approvals(options)", "ApprovalsOptions"],
  ["runtime.close(options)", "CloseOptions"],
  ["createServer(runtime, options)", "ServerOptions"],
];

/** The options of a method of a session. */
export function optionsOfCall(method: string): readonly Member[] {
  const [, type = ""] = optionTypes.find(([call]) => call.startsWith(`session.${method}(`)) ?? [];
  return declared(type)?.members ?? [];
}
