/** The routes of AG-UI 1.0: a run, and the last run again from its start for a client that comes back. */

import { agUiEncoder, restOf, type AgUiEncoderState, type AgUiEvent } from "../../ag-ui/index.ts";
import { TurnlogError } from "../../events/index.ts";
import { encodedEvents } from "../../runtime/index.ts";
import { activeMessages, type SessionMessage } from "../../ui/index.ts";
import { answerChat, type Reply } from "../chat/chat-request.ts";
import { hasReply } from "../chat/chat-routes.ts";
import type { MessageFolds } from "../chat/message-folds.ts";
import { route, type Call, type Route } from "../route/route.ts";
import { eventStream, type ServerSentEvent } from "../streams/event-stream.ts";
import { chatOfRun, connectInput, ownFields, runInput, type RunInput } from "./run-input.ts";

const mediaType = "text/event-stream";
const words = "Events of AG-UI 1.0: from `RUN_STARTED` to `RUN_FINISHED` or `RUN_ERROR`, or none.";
const answer = { kind: "media", mediaType, words } as const;

export function agUiRoutes(folds: MessageFolds): readonly Route[] {
  return [
    route({
      name: "agUiRun",
      method: "post",
      path: "/api/ag-ui",
      action: "send",
      audience: "user",
      summary:
        "Runs the agent of the session `threadId`: sends, edits or regenerates the last message, or answers interrupts and calls; streams the run until it is at rest.",
      body: runInput,
      answer,
      sessionOf: ({ body }) => body.threadId,
      handle: async (call) => {
        const { body, runtime, session, open } = call;
        const turn = await call.turnOf(ownFields(body), Object.keys(runInput.shape));
        const isNew = (await runtime.log.revision(session)) === 0;
        await assertTools(call, body, turn.agent);
        const view = isNew ? undefined : await (await open()).view();
        const reply = await answerChat(call, chatOfRun(body, view), turn);
        return runStream(reply, body, call, folds, "send");
      },
    }),
    route({
      name: "agUiConnect",
      method: "post",
      path: "/api/ag-ui/connect",
      action: "read",
      audience: "user",
      summary:
        "The last run of the session `threadId` from its start, then live until it is at rest. Takes the input of a run without `resume`, and sends nothing of it.",
      body: connectInput,
      answer,
      absent: noRun,
      sessionOf: ({ body }) => body.threadId,
      handle: async (call) => {
        const session = await call.open();
        if (!hasReply(await session.view())) return noRun();
        return runStream({ session, stream: {} }, call.body, call, folds, "read");
      },
    }),
  ];
}

function noRun(): Response {
  return new Response("", { headers: { "content-type": mediaType } });
}

/** The agent has its tools; a client runs those without `execute`. @throws TurnlogError `INVALID_INPUT` */
async function assertTools(
  { runtime, session, open }: Call,
  { tools: given }: RunInput,
  agent: string | undefined,
): Promise<void> {
  if (given.length === 0) return;
  await open({ create: true, agent });
  const { tools = {} } = await runtime.agentOf(session);
  const known = Object.entries(tools).filter(([, { execute }]) => execute === undefined);
  const foreign = given.find(({ name }) => !known.some(([own]) => own === name));
  if (foreign === undefined) return;
  throw new TurnlogError(
    "INVALID_INPUT",
    `The agent has no tool ${foreign.name} that a client runs. Give it one without \`execute\`.`,
    { session, details: { option: "tools" } },
  );
}

/** The answer with the events of a run, while its request is allowed. When the client leaves, the turn continues. */
function runStream(
  { session, stream: { after, ...at } }: Reply,
  { threadId, runId, protocolVersion, messages: held }: RunInput,
  call: Call,
  folds: MessageFolds,
  action: "send" | "read",
): Response {
  const { ui, audience, runtime, problem, stream, ended } = call;
  const run = { threadId, runId };
  const gate = call.gate(action);
  const sent = (event: AgUiEvent): ServerSentEvent => asEvent(event, protocolVersion);
  let last: AgUiEncoderState | undefined;
  const encoderBehind = async (behind: number) => {
    const all = { limit: Infinity, before: undefined };
    const folded = await folds.at(runtime.log, session, await session.view(), call, all);
    const isBefore = ({ metadata }: SessionMessage): boolean => (metadata?.position ?? 0) <= behind;
    const messages = activeMessages(folded).filter(isBefore);
    const summary = behind === 0 ? undefined : (await session.at(behind)).summary;
    const appEvents = audience === "operator";
    const encoder = agUiEncoder({ ...ui, run, after, held, messages, summary, appEvents });
    const encode: typeof encoder.encode = (state, event) => {
      const encoded = encoder.encode(state, event);
      last = encoded.state;
      return encoded;
    };
    return { ...encoder, encode };
  };
  async function* events(left: AbortSignal): AsyncGenerator<ServerSentEvent> {
    try {
      const encoded = encodedEvents(session, { ...at, ...ui }, encoderBehind, left, gate);
      for await (const { chunks } of encoded) yield* chunks.map(sent);
      if (last !== undefined) yield* restOf(last, run).map(sent);
    } catch (error) {
      // A client that connects again has the rest of the run.
      const { code, detail: message } = problem(error);
      yield sent({ type: "RUN_ERROR", message, code });
    }
  }
  return eventStream(events, stream, {}, ended);
}

/** Clients from before 1.0 declare no version, know no other outcome, and find out themselves which calls are pending. */
function asEvent(event: AgUiEvent, version: string | undefined): ServerSentEvent {
  const isOld = version === undefined && event.type === "RUN_FINISHED";
  const outcome = isOld && event.outcome?.type !== "interrupt" ? { outcome: undefined } : {};
  return { data: JSON.stringify({ ...event, ...outcome }) };
}
