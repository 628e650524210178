/** Decides on a client's answer to a call: its end, nothing for the same answer again, or a refusal. Pure. */

import { isDeepStrictEqual } from "node:util";
import { TurnlogError, type EventBody } from "../../events/index.ts";
import {
  requestedCalls,
  waitingOutputs,
  type OutputRequest,
  type RequestedCall,
} from "../../state/index.ts";
import { refusal, type CommandTarget } from "./commands.ts";

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
    `Request ${requestId} of session ${session} (${toolName}) was answered by ${how}${who} at position ${answered.position}. An answer holds, since the model may have read it. Nothing was recorded.`,
    { session, position: answered.position, details: { requestId } },
  );
}
