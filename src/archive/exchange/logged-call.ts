/**
 * Takes the messages out of what programs keep: a list of them, the body of a request, a request with its
 * response, or a list of those. Pure.
 */

import { TurnlogError } from "../../events/index.ts";
import { kindOf, type MessageKind } from "./message-kind.ts";

type Fields = Readonly<Record<string, unknown>>;

export interface LoggedCall {
  readonly messages: readonly unknown[];
  /** The system prompt beside the messages. */
  readonly system: unknown;
  /** The messages of the response; none without one. */
  readonly reply: readonly unknown[];
  readonly request: Fields;
  readonly response: Fields;
}

/** @throws TurnlogError `INVALID_INPUT` */
export function loggedCalls(value: unknown): readonly LoggedCall[] {
  const isLog = Array.isArray(value) && value.some(isCall);
  const calls = (isLog ? value : [value]).map((one: unknown, index, { length }) =>
    loggedCall(one, length === 1 ? "This" : `Conversation ${index + 1} of ${length}`),
  );
  return withPrevious(calls);
}

export function kindOfCalls(calls: readonly LoggedCall[]): MessageKind {
  const listed = calls.flatMap(({ messages, reply, response }) => [
    ...messages,
    ...reply,
    response,
  ]);
  const found = kindOf(listed);
  if (found !== undefined) return found;
  if (calls.some(({ request }) => "system" in request)) return "anthropic";
  return calls.some(({ request }) => "messages" in request) ? "openai" : "model-messages";
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** Whether an element of a list is a conversation, and no message. */
function isCall(value: unknown): boolean {
  if (!isFields(value)) return Array.isArray(value);
  if ("messages" in value || "request" in value) return true;
  return !("role" in value || "type" in value) && ("input" in value || "body" in value);
}

/** @param which - For errors. */
function loggedCall(value: unknown, which: string): LoggedCall {
  if (Array.isArray(value))
    return { messages: value, system: undefined, reply: [], request: {}, response: {} };
  const fault = (why: string): TurnlogError =>
    new TurnlogError("INVALID_INPUT", `${which} ${why}. Nothing was imported.`);
  if (!isFields(value)) throw fault("is neither a list of messages nor a request with one");
  const request = bodyOf(value["request"] ?? value);
  const response = bodyOf(value["response"] ?? value);
  const { messages = request["input"] } = request;
  const listed: unknown =
    typeof messages === "string" ? [{ role: "user", content: messages }] : messages;
  if (!Array.isArray(listed)) throw fault("has no list of `messages`, or `input`");
  const reply = replyOf(response);
  if (reply === undefined && isFields(value["response"]) && !("error" in response))
    throw fault("has a response without `choices`, `output` or `content`");
  const system = request["system"] ?? request["instructions"];
  return {
    messages: listed,
    system,
    reply: reply ?? [],
    request,
    response: reply === undefined ? {} : response,
  };
}

/** A batch keeps requests and responses with their addresses. */
function bodyOf(value: unknown): Fields {
  const fields = isFields(value) ? value : {};
  return isFields(fields["body"]) ? fields["body"] : fields;
}

function replyOf(response: Fields): readonly unknown[] | undefined {
  const { choices, content, role } = response;
  const output: unknown = response["output"];
  if (Array.isArray(choices))
    return choices.slice(0, 1).map((one: unknown) => (isFields(one) ? one["message"] : one));
  if (Array.isArray(output)) return Array.from<unknown>(output);
  return role === "assistant" ? [{ role, content }] : undefined;
}

/** OpenAI keeps the beginning of such a conversation itself: the log has it in an earlier call. */
function withPrevious(calls: readonly LoggedCall[]): readonly LoggedCall[] {
  const known = new Map<unknown, readonly unknown[]>();
  return calls.map((call) => {
    const { previous_response_id: id = null } = call.request;
    const before = id === null ? [] : known.get(id);
    if (before === undefined) {
      const why = `A request continues the response ${String(id)}, which the file does not have before it`;
      throw new TurnlogError("INVALID_INPUT", `${why}. Nothing was imported.`);
    }
    const messages = [...before, ...call.messages];
    known.set(call.response["id"], [...messages, ...call.reply]);
    return { ...call, messages };
  });
}
