/**
 * A call of an agent's tool: sends a message, follows its turn, and gives the reply with the name of its session. A call
 * that is made again, with its session, joins the turn that runs. What the turn waits for is asked at the client.
 */

import { randomUUID } from "node:crypto";
import {
  CLIENT_CAPABILITIES_META_KEY,
  inputRequired,
  inputResponse,
  isSpecType,
  SdkError,
  type CallToolResult,
  type ElicitRequestFormParams,
  type InputRequiredResult,
  type ServerContext,
} from "@modelcontextprotocol/server";
import type { UIMessageChunk } from "ai";
import { z } from "zod";
import { chatTransport, type Client, type SessionClient } from "../client/index.ts";
import { jsonObjectSchema, TurnlogError, parsedJson } from "../events/index.ts";
import { firstAbort, LONGEST_TIMEOUT_MS, onAbort } from "../shared/index.ts";
import type { Approval } from "../state/index.ts";

const given = z.string().min(1).optional();

export const callInput = z
  .strictObject({
    message: given.describe("What to ask. Without it: the reply that runs, or the last one."),
    session: given.describe("The session of an earlier result, to continue its conversation."),
  })
  .refine(({ message, session }) => message ?? session, "It needs a message, a session, or both.");

export const callOutput = z.object({
  session: z.string().describe("Pass it to continue the conversation."),
  status: z.string().describe("How the turn ended, or `waiting`."),
  reply: z.string(),
  output: z.unknown().optional().describe("The reply as data, if it is JSON."),
  waitsFor: z.array(z.string()).optional(),
});

export interface AgentCall {
  readonly client: Client;
  /** Its name, in a runtime with several. */
  readonly agent: string | undefined;
  /** What a client of a version before 2026-07-28 can do. */
  readonly capabilities: unknown;
  readonly request: ServerContext["mcpReq"];
  /** Whether the client cancels the call by leaving. */
  readonly endsByLeaving: boolean;
}

type Result = CallToolResult | InputRequiredResult;

/** What a client that was asked sends back. The routes check what it names. */
const stateSchema = z.object({ session: z.string(), messageId: z.string().optional() });

/** A refusal is a result with an error, which the client's model reads. */
export async function callAgent(
  input: z.infer<typeof callInput>,
  call: AgentCall,
): Promise<Result> {
  try {
    return await answered(input, call);
  } catch (error) {
    if (!TurnlogError.isInstance(error)) throw error;
    return { content: [{ type: "text", text: `${error.code}: ${error.message}` }], isError: true };
  }
}

async function answered(
  { message: text = "", session: handle }: z.infer<typeof callInput>,
  { client, agent, capabilities, request, endsByLeaving }: AgentCall,
): Promise<Result> {
  const { signal, envelope, inputResponses = {} } = request;
  const body = agent === undefined ? {} : { agent };
  const kept = request.requestState<string>();
  const state = kept === undefined ? undefined : stateSchema.parse(JSON.parse(kept));
  const id = state?.session ?? handle;
  const session =
    id === undefined ? await client.createSession(undefined, body) : client.session(id);
  const chatId = session.id;
  const report = progressOf(request);
  report(`Session ${chatId}`);
  const messageId = state === undefined ? await messageFor(session, text) : state.messageId;
  const chat = chatTransport(client);
  using _ = onAbort(signal, () => {
    if (endsByLeaving || !SdkError.isInstance(signal.reason))
      cancel(session, messageId, () => chat.stop(chatId)).catch(() => {});
  });
  const parts = [{ type: "text" as const, text }];
  const open = (): Promise<ReadableStream<UIMessageChunk> | null> =>
    messageId === undefined
      ? chat.reconnectToStream({ chatId })
      : chat.sendMessages({
          chatId,
          trigger: "submit-message",
          messageId: undefined,
          messages: [{ id: messageId, role: "user", parts }],
          abortSignal: signal,
          // Who asks has shown nothing of the session.
          body: { ...body, basedOn: undefined },
        });

  let asks = asksForms(capabilities ?? Reflect.get(envelope ?? {}, CLIENT_CAPABILITIES_META_KEY));
  // A session that is not there is refused here: the message would create it.
  for (const approval of (await questions(session)).approvals) {
    const one = inputResponse(inputResponses, approval.approvalId);
    if (one.kind === "elicit" && !(await answer(session, approval, one))) asks = false;
  }
  let isResumed = false;
  for (;;) {
    const reply = await readReply(await open(), report);
    signal.throwIfAborted();
    const { approvals, words } = await questions(session);
    if (words.length === 0 && reply.reason === undefined) {
      const waits = await isQueued(session, messageId);
      // A message behind a turn that failed or was cancelled is held back, and this call is not that turn's.
      if (waits && !isResumed) {
        isResumed = true;
        await session.resume();
        continue;
      }
      if (waits || reply.hasBegun) words.push("a person who lets it continue");
    }
    const forms = asks ? approvals.flatMap((one) => formFor(one)) : [];
    const [first] = forms;
    if (first === undefined) return resultOf(chatId, reply, words);
    if (envelope === undefined) {
      asks = await elicited(client, session, first, request);
      continue;
    }
    return inputRequired({
      inputRequests: Object.fromEntries(
        forms.map(([{ approvalId }, form]) => [approvalId, inputRequired.elicit(form)]),
      ),
      requestState: JSON.stringify({ session: chatId, messageId }),
    });
  }
}

/**
 * The id of the message to send; undefined without a message. One that the session has and whose turn is not over is not
 * sent again.
 */
async function messageFor(session: SessionClient, text: string): Promise<string | undefined> {
  if (text === "") return undefined;
  const { messages, queue } = await session.messages({ limit: 50 });
  const last = messages.at(-1);
  const isOver = last?.role === "assistant" && last.metadata?.endPosition !== undefined;
  const asked = isOver ? [] : messages.filter(({ role }) => role === "user").slice(-1);
  const unanswered = [...asked.map(({ id, parts }) => ({ id, content: parts })), ...queue];
  const isSame = ({ content }: { readonly content: string | readonly object[] }): boolean => {
    if (typeof content === "string") return content === text;
    return content.map((part) => ("text" in part ? part.text : "")).join("") === text;
  };
  return unanswered.find(isSame)?.id ?? randomUUID();
}

interface Reply {
  text: string;
  hasBegun: boolean;
  reason?: string | undefined;
  error?: string | undefined;
}

const endSchema = z.object({ reason: z.string(), error: z.string() }).partial();
/** Characters between two reports of the text so far, and the most that one shows. */
const REPORTED = 200;

/** The text is that of the last step, with what was said of it before an attempt was cut off. */
async function readReply(
  stream: ReadableStream<UIMessageChunk> | null,
  report: (message: string) => void,
): Promise<Reply> {
  let reply: Reply = { text: "", hasBegun: false };
  let step = 0;
  let told = 0;
  let hasCalled = false;
  for await (const chunk of stream ?? []) {
    if (chunk.type === "start-step") {
      // A step that ends without a call is the last one, unless it was cut off.
      if (hasCalled) {
        reply.text = "";
        told = 0;
      }
      hasCalled = false;
      report(`Step ${++step}`);
    } else if (chunk.type === "text-delta") {
      reply.text += chunk.delta;
      if (reply.text.length < told + REPORTED) continue;
      told = reply.text.length;
      report(reply.text.slice(-REPORTED));
    } else if (chunk.type === "tool-input-available") {
      hasCalled = true;
      report(`Step ${step}: ${chunk.toolName}`);
    } else if (chunk.type === "error") reply.error = chunk.errorText;
    else if ("messageMetadata" in chunk)
      reply = { ...reply, ...endSchema.safeParse(chunk.messageMetadata).data, hasBegun: true };
  }
  return reply;
}

function progressOf({ _meta, notify }: AgentCall["request"]): (message: string) => void {
  const progressToken = _meta?.progressToken;
  const told = new Set<string>();
  return (message) => {
    // A turn that continues after a question is read from its beginning.
    if (progressToken === undefined || told.has(message)) return;
    const params = { progressToken, progress: told.add(message).size, message };
    // A client that is gone gets none.
    notify({ method: "notifications/progress", params }).catch(() => {});
  };
}

/** Who asked nothing ends nothing. A message that still waits is withdrawn: the turn that runs is another call's. */
async function cancel(
  session: SessionClient,
  messageId: string | undefined,
  stop: () => Promise<void>,
): Promise<void> {
  if (messageId === undefined) return;
  await ((await isQueued(session, messageId)) ? session.withdraw(messageId) : stop());
}

async function isQueued(session: SessionClient, messageId: string | undefined): Promise<boolean> {
  return (await session.queue()).some(({ id }) => id === messageId);
}

/** The approvals that wait, and words for all that the turn waits for. */
async function questions(session: SessionClient) {
  const asked = await session.approvals();
  const approvals = asked.approvals.filter(({ status }) => status === "waiting");
  const outputs = asked.outputRequests.filter(({ status }) => status === "waiting");
  const words = [
    ...approvals.map((one) => wordsOf(one)),
    ...outputs.map(({ toolName }) => `a client that runs ${toolName}`),
  ];
  return { approvals, words };
}

function wordsOf({ toolName, input, question }: Approval): string {
  if (question === undefined) return `a person who allows ${toolName} ${JSON.stringify(input)}`;
  const about = "message" in question ? question.message : "Log in.";
  return `a person, whom ${question.from} asks: ${about} ${"url" in question ? question.url : ""}`;
}

type Form = readonly [Approval, ElicitRequestFormParams];

/** Nothing for what is not a form that a client can show. An approval is a form without fields. */
function formFor(approval: Approval): readonly Form[] {
  const { toolName, input, question } = approval;
  const isForm = question?.kind === "form";
  const form = isForm
    ? { message: `${question.from}: ${question.message}`, requestedSchema: question.schema }
    : {
        message: `Allow ${toolName}?\n${JSON.stringify(input, undefined, 2)}`,
        requestedSchema: { type: "object", properties: {} },
      };
  const isShown = isForm || question === undefined;
  return isShown && isSpecType.ElicitRequestFormParams(form) ? [[approval, form]] : [];
}

const capabilitySchema = z.object({
  elicitation: z.object({ form: z.unknown(), url: z.unknown() }).partial(),
});

function asksForms(capabilities: unknown): boolean {
  const { elicitation } = capabilitySchema.safeParse(capabilities).data ?? {};
  return elicitation !== undefined && (elicitation.form ?? elicitation.url) === elicitation.form;
}

/** Asks a client of an earlier version. The form closes when somebody answers elsewhere. False if nobody answered. */
async function elicited(
  client: Client,
  session: SessionClient,
  [approval, form]: Form,
  { send, signal }: AgentCall["request"],
): Promise<boolean> {
  const elsewhere = new AbortController();
  using ends = firstAbort(signal, elsewhere.signal);
  const end = (): void => elsewhere.abort();
  answeredElsewhere(client, session, approval, ends.signal).then(end, () => {});
  try {
    const options = { signal: ends.signal, timeout: LONGEST_TIMEOUT_MS };
    const given = await send({ method: "elicitation/create", params: { ...form } }, options);
    return await answer(session, approval, given);
  } catch (error) {
    signal.throwIfAborted();
    if (TurnlogError.isInstance(error)) throw error;
    return elsewhere.signal.aborted;
  } finally {
    end();
  }
}

async function answeredElsewhere(
  { http }: Client,
  session: SessionClient,
  { approvalId }: Approval,
  signal: AbortSignal,
): Promise<void> {
  const { position: after } = await session.messages({ limit: 1 });
  const path = `/api/chat/${encodeURIComponent(session.id)}/changes`;
  const { body } = await http.open({ path, query: { after }, signal });
  const reader = body?.getReader();
  while ((await questions(session)).approvals.some((one) => one.approvalId === approvalId))
    if ((await reader?.read())?.done !== false) throw new Error("The session says nothing more.");
}

/** False if the person neither accepted nor declined: the question still waits. */
async function answer(
  session: SessionClient,
  { approvalId, question }: Approval,
  { action, content }: { readonly action: string; readonly content?: object | undefined },
): Promise<boolean> {
  const values = question === undefined ? {} : { content: jsonObjectSchema.parse(content ?? {}) };
  try {
    if (action === "accept") await session.approve(approvalId, values);
    else if (action === "decline") await session.deny(approvalId);
    return action !== "cancel";
  } catch (error) {
    if (TurnlogError.isInstance(error) && error.code === "APPROVAL_ANSWERED") return true;
    throw error;
  }
}

/** The text names the session too: not every client shows its model the rest. */
function resultOf(
  session: string,
  { text: reply, reason = "none", error = "" }: Reply,
  waitsFor: readonly string[],
): CallToolResult {
  const waits = waitsFor.length > 0;
  const status = waits ? "waiting" : reason;
  const next = `The session waits for ${waitsFor.join("; ")}. It continues when that is answered where the session is shown: then call again with this session and no message.`;
  const texts = [reply || error, waits ? next : "", `Session: ${session} (${status})`];
  const data: z.infer<typeof callOutput> = {
    session,
    status,
    reply,
    output: /^\s*[[{]/.test(reply) ? parsedJson(reply) : undefined,
  };
  return {
    content: texts.filter(Boolean).map((text) => ({ type: "text", text })),
    structuredContent: waits ? { ...data, waitsFor } : data,
    isError: status === "failed",
  };
}
