/** The commands that answer a session's calls: `approve`, `deny`, `answerCall`, `forgetApproval`. Pure. */

import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import {
  byId,
  defined,
  TurnlogError,
  type EventBody,
  type JsonObject,
  type SessionEvent,
} from "../events/index.ts";
import { activeSpans, isWithin, type ApprovalDecision } from "../projections/index.ts";
import {
  approvalOfId,
  waitingApprovals,
  type Approval,
  requestedCalls,
  waitingOutputs,
  type OutputRequest,
  type RequestedCall,
} from "../state/index.ts";
import { toJson, withFullStop } from "../shared/index.ts";
import { flag, text, thing } from "../validation/index.ts";
import {
  eventCommand,
  runtimeCommand,
  type Answer,
  type Command,
  type RecordedArguments,
} from "./command.ts";
import { refusal, type CommandTarget } from "./target.ts";
import { anything, by, options, required, requiredOptions } from "./parameters.ts";

/** The answer to a call that a client runs: the output of its tool, or the text of an error. */
export type CallAnswer = (
  | {
      /** The output of the tool, as JSON. */
      readonly output: unknown;
      readonly error?: never;
    }
  | {
      /** In place of an output: why the call failed, for the model. */
      readonly error: string;
      readonly output?: never;
    }
) & {
  /** Who answers: recorded with the answer. */
  readonly by?: string;
};

const content = thing(
  "an object with the values of the form",
  (value) => typeof value === "object" && value !== null && !Array.isArray(value),
);
const recorded = ["recorded", "already-answered"] as const;
const approvalAnswered: Answer = {
  kind: "json",
  schema: z.lazy(() =>
    z.object({
      status: z.enum(recorded),
      approval: z.looseObject({ approvalId: z.string(), toolName: z.string() }),
    }),
  ),
};
const approvalParameters = [
  required<string>("approvalId", text),
  options<ApprovalAnswer>({ name: "answer", fields: { reason: text, always: flag, content, by } }),
];
const approvalRoute = {
  method: "post",
  path: "/api/approvals/{approvalId}",
  audience: "user",
  summary: "Approves or denies a call. Repeating the same answer changes nothing.",
} as const;

export const answerCommands: readonly Command[] = [
  runtimeCommand({
    name: "approve",
    parameters: approvalParameters,
    permission: "approve",
    route: { ...approvalRoute, fixed: { approved: true } },
    answer: approvalAnswered,
    recorded: (event) => recordedAnswer(event, true),
  }),
  runtimeCommand({
    name: "deny",
    parameters: approvalParameters,
    permission: "deny",
    route: { ...approvalRoute, fixed: { approved: false } },
    answer: approvalAnswered,
    recorded: (event) => recordedAnswer(event, false),
  }),
  runtimeCommand({
    name: "answerCall",
    parameters: [
      required<string>("requestId", text),
      requiredOptions<CallAnswer>({
        name: "answer",
        fields: { output: anything, error: text, by },
        and: thing(
          "`{ output }`, or `{ error }` with a text, and `by` with the name of the person who answers",
          isOneAnswer,
        ),
        own: ownAnswer,
      }),
    ],
    permission: "answer",
    route: {
      method: "post",
      path: "/api/outputs/{requestId}",
      audience: "user",
      summary: "Gives the output of a call that a client runs, or the text of its error.",
    },
    answer: {
      kind: "json",
      schema: z.lazy(() =>
        z.object({
          status: z.enum(recorded),
          request: z.looseObject({ requestId: z.string() }),
        }),
      ),
    },
    recorded: (event, _, events) => {
      if (event.type !== "tool.succeeded" && event.type !== "tool.failed") return undefined;
      const { step, callId, by: who } = event.data;
      const isAsked = ({ type, data }: SessionEvent): boolean =>
        type === "tool.output-requested" && data.step === step && data.callId === callId;
      if (!events.slice(0, event.position).some(isAsked)) return undefined;
      const answer =
        event.type === "tool.succeeded"
          ? { output: event.data.output }
          : { error: event.data.error.message };
      return async ({ view }) => {
        const { outputRequests } = await view();
        const asked = outputRequests.findLast((one) => one.step === step && one.callId === callId);
        return [asked?.requestId ?? callId, { ...answer, ...defined({ by: who }) }];
      };
    },
  }),
  eventCommand({
    name: "forgetApproval",
    parameters: [required<string>("toolName", text)],
    permission: "approve",
    route: {
      method: "delete",
      path: "/approvals/{toolName}",
      audience: "user",
      summary: "Removes the answer with `always` for a tool, so that its next call asks again.",
    },
    decide: (target, toolName) => {
      const { always } = target.state.approvals;
      if (byId(always, toolName) !== undefined)
        return [{ type: "session.approval-forgotten", data: { toolName } }];
      const others = Object.keys(always);
      const about = others.length === 0 ? "" : `. Answered permanently: ${others.join(", ")}`;
      const why = `${JSON.stringify(toolName)} has no permanent answer${about}`;
      throw refusal(target, "forgetApproval", why);
    },
    recorded: (event) =>
      event.type === "session.approval-forgotten" ? () => [event.data.toolName] : undefined,
  }),
];

function recordedAnswer(event: SessionEvent, approved: boolean): RecordedArguments | undefined {
  if (event.type !== "tool.approval-answered" || event.data.approved !== approved) return undefined;
  const { step, callId, always, reason, content: values, by: who } = event.data;
  return async ({ view }) => {
    const { approvals } = await view();
    const asked = approvals.findLast((one) => one.step === step && one.callId === callId);
    const given = defined({ always, reason, content: values, by: who });
    return [asked?.approvalId ?? callId, given];
  };
}

/** Exactly one of the two. */
function isOneAnswer(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return false;
  const isError = "error" in value && typeof value.error === "string";
  return "output" in value !== isError && "error" in value === isError;
}

/** An output is recorded as JSON, which is what its tool's `outputSchema` checks, wherever it comes from. */
function ownAnswer(answer: unknown): unknown {
  if (typeof answer !== "object" || answer === null || !("output" in answer)) return answer;
  return { ...answer, output: toJson(answer.output) };
}

/** Details of an answer. */
export interface ApprovalAnswer {
  /** Why, for the log; of a denial also for the model. */
  readonly reason?: string;
  /** Applies to every later call of the same tool in this session, and to those that wait now. */
  readonly always?: boolean;
  /** The values of the form that the call asks for. */
  readonly content?: JsonObject;
  /** Who answers: recorded with the answer. */
  readonly by?: string;
}

/** The outcome of an answer. */
export interface ApprovalRecorded {
  /** `already-answered`: the same answer was recorded before, and nothing changed. */
  readonly status: "recorded" | "already-answered";
  readonly approval: Approval;
}

type Answered = Extract<Approval, { readonly answer: unknown }>;

export function isAnswered(approval: Approval | undefined): approval is Answered {
  return approval !== undefined && "answer" in approval;
}

/** A decided answer. Without an event if the approval has the same answer already. */
interface AnswerDecision {
  readonly approval: Approval;
  readonly event?: EventBody<"tool.approval-answered">;
}

/**
 * @throws TurnlogError `APPROVAL_ANSWERED`, `COMMAND_REFUSED`; `INVALID_INPUT` for values that do not fit the form
 */
export function answerApproval(
  target: CommandTarget,
  approvalId: string,
  approved: boolean,
  answer: ApprovalAnswer,
): AnswerDecision {
  const { session, state } = target;
  const command = approved ? "approve" : "deny";
  const approval = approvalOfId(session, state, approvalId);
  if (isAnswered(approval)) {
    if (isSameAnswer(approval.answer, approved, answer)) return { approval };
    throw answeredOtherwise(session, approval);
  }
  if (approval?.status !== "waiting") {
    const why = notWaiting(target, approvalId, approval);
    throw refusal(target, command, why);
  }
  const { step, callId } = approval;
  const { reason, always = false, content: values, by } = answer;
  if (always && approval.question !== undefined)
    throw refusal(target, command, "what a running call asks is answered once, without `always`");
  const fault = answerFault(approval, approved, answer);
  if (fault !== undefined)
    throw new TurnlogError(
      "INVALID_INPUT",
      `Approval ${approvalId} of session ${session} (${approval.toolName}): ${withFullStop(fault)} Nothing was recorded: the call still waits.`,
      { session, position: approval.position, details: { approvalId } },
    );
  const data = {
    step,
    callId,
    approved,
    ...(reason === undefined ? {} : { reason }),
    ...(always ? { always } : {}),
    ...(values === undefined ? {} : { content: values }),
    ...(by === undefined ? {} : { by }),
  };
  return { approval, event: { type: "tool.approval-answered", data } };
}

/** Why an answer does not fit the question. */
function answerFault(
  { question }: Approval,
  approved: boolean,
  { content: values }: ApprovalAnswer,
): string | undefined {
  if (question?.kind !== "form" || !approved)
    return values === undefined ? undefined : "it asks for no values (`content`).";
  try {
    const fits = z.fromJSONSchema(question.schema).safeParse(values ?? {});
    if (fits.success) return undefined;
    return `\`content\` does not fit the form. ${z.prettifyError(fits.error)}`;
  } catch (error) {
    // Logs of other programs may have any schema.
    return `its form cannot be checked (${String(error)}), so it can only be denied`;
  }
}

/** The person (`by`) may be another one. */
function isSameAnswer(
  decision: ApprovalDecision,
  approved: boolean,
  { reason, always = false, content: values }: ApprovalAnswer,
): boolean {
  return (
    (values === undefined || isDeepStrictEqual(values, decision.content)) &&
    decision.approved === approved &&
    (!always || decision.always === true) &&
    (reason === undefined || reason === decision.reason)
  );
}

function answeredOtherwise(
  session: string,
  { approvalId, toolName, answer }: Answered,
): TurnlogError {
  const { approved, always, reason, by, position } = answer;
  const who = by === undefined ? "" : ` by ${by}`;
  const how = `${approved ? "approved" : "denied"}${always === true ? " permanently" : ""}`;
  const why = reason === undefined ? "" : `: ${JSON.stringify(reason)}`;
  return new TurnlogError(
    "APPROVAL_ANSWERED",
    `Approval ${approvalId} of session ${session} (${toolName}) was ${how}${who} at position ${position}${why}. An answer is final, since the call may already have run. Nothing was recorded.`,
    { session, position, details: { approvalId } },
  );
}

/** Why an approval cannot be answered, and which ones can. */
function notWaiting(
  { session, state }: CommandTarget,
  approvalId: string,
  found: Approval | undefined,
): string {
  const waiting = waitingApprovals(session, state);
  const others =
    waiting.length === 0
      ? "None waits here"
      : `These wait: ${waiting.map((one) => `${one.approvalId} (${one.toolName})`).join(", ")}`;
  const why =
    found === undefined
      ? `it has no approval ${JSON.stringify(approvalId)}. An approval is answered by its \`approvalId\`, which \`view().approvals\` has`
      : `the call of approval ${approvalId} (${found.toolName}) no longer waits, since ${isLeft(state, found) ? "its branch was left by a rewind" : "it ended before an answer"}`;
  return `${why}. ${others}`;
}

function isLeft({ branches }: CommandTarget["state"], { position }: Approval): boolean {
  return !isWithin(activeSpans(branches), position);
}

// Decides on a client's answer to a call: its end, nothing for the same answer again, or a refusal. Pure.

/** The outcome of {@link Session.answerCall}. */
export interface CallAnswered {
  /** `already-answered`: the same answer was recorded before, and nothing changed. */
  readonly status: "recorded" | "already-answered";
  readonly request: OutputRequest;
}

type Answering = EventBody<"tool.succeeded" | "tool.failed">;

/**
 * By the id of its request, or by a call id that no other request of the session has.
 * @throws TurnlogError `COMMAND_REFUSED` if there is none, if there are several, or if it lapsed
 */
export function callToAnswer(target: CommandTarget, id: string): RequestedCall {
  const { session, state } = target;
  const [found, another] = requestedCalls(session, state, id);
  if (found === undefined) {
    const why = `it has no output request ${JSON.stringify(id)}. A call is answered by the \`requestId\` that \`view().outputRequests\` has`;
    throw refusal(target, "answerCall", `${why}. ${waitingHere(target)}`);
  }
  if (another !== undefined) {
    const why = `the provider used the call id ${JSON.stringify(id)} for several calls. Answer by the \`requestId\``;
    throw refusal(target, "answerCall", `${why}. ${waitingHere(target)}`);
  }
  if (found.request.status === "lapsed") {
    const { requestId, toolName } = found.request;
    const why = `the call of request ${requestId} (${toolName}) ended before an answer`;
    throw refusal(target, "answerCall", `${why}. ${waitingHere(target)}`);
  }
  return found;
}

function waitingHere({ session, state }: CommandTarget): string {
  const waiting = waitingOutputs(session, state);
  if (waiting.length === 0) return "None waits here";
  return `These wait: ${waiting.map((one) => `${one.requestId} (${one.toolName})`).join(", ")}`;
}

/** Undefined if the call has the same answer already. @throws TurnlogError `CALL_ANSWERED` */
export function answerCall(
  { session }: CommandTarget,
  { request, call: { outcome } }: RequestedCall,
  answering: Answering,
): Answering | undefined {
  const { answered } = request;
  if (answered === undefined) return answering;
  const isSame =
    answering.type === "tool.succeeded"
      ? outcome.status === "succeeded" && isDeepStrictEqual(outcome.output, answering.data.output)
      : outcome.status === "failed" && outcome.error.message === answering.data.error.message;
  if (isSame) return undefined;
  const { requestId, toolName } = request;
  const how = outcome.status === "failed" ? "an error" : "another output";
  const who = answered.by === undefined ? "" : ` of ${answered.by}`;
  throw new TurnlogError(
    "CALL_ANSWERED",
    `Request ${requestId} of session ${session} (${toolName}) was answered by ${how}${who} at position ${answered.position}. An answer is final, since the model may have read it. Nothing was recorded.`,
    { session, position: answered.position, details: { requestId } },
  );
}
