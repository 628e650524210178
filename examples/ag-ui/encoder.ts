/** An encoder of your own: the events of a session in the protocol AG-UI, as far as text and calls go. */

import type { EventEncoder } from "turnlog";

export type AgUiEvent =
  | {
      readonly type: "RUN_STARTED" | "RUN_FINISHED";
      readonly threadId: string;
      readonly runId: string;
    }
  | { readonly type: "RUN_ERROR"; readonly message: string }
  | { readonly type: "TEXT_MESSAGE_START"; readonly messageId: string; readonly role: "assistant" }
  | { readonly type: "TEXT_MESSAGE_CONTENT"; readonly messageId: string; readonly delta: string }
  | { readonly type: "TEXT_MESSAGE_END"; readonly messageId: string }
  | { readonly type: "TOOL_CALL_START"; readonly toolCallId: string; readonly toolCallName: string }
  | { readonly type: "TOOL_CALL_ARGS"; readonly toolCallId: string; readonly delta: string }
  | { readonly type: "TOOL_CALL_END"; readonly toolCallId: string }
  | { readonly type: "TOOL_CALL_RESULT"; readonly toolCallId: string; readonly content: string }
  | { readonly type: "CUSTOM"; readonly name: string; readonly value: unknown };

interface State {
  readonly runId: string;
  /** Names the attempt at a step, since providers use the ids of texts again. */
  readonly attempt: string;
  /** Messages without an end. */
  readonly open: readonly string[];
}

export function agUi(threadId: string): EventEncoder<State, AgUiEvent> {
  const initial: State = { runId: "", attempt: "", open: [] };
  return {
    initial: () => initial,
    encode: (state, { type, data }) => {
      const { runId, attempt, open } = state;
      const send = (...chunks: readonly AgUiEvent[]) => ({ state, chunks });
      switch (type) {
        case "turn.started": {
          const started = `${threadId}-${data.turn}`;
          return {
            state: { ...initial, runId: started },
            chunks: [{ type: "RUN_STARTED", threadId, runId: started }],
          };
        }
        case "step.started":
          return { state: { ...state, attempt: `${data.step}.${data.attempt}` }, chunks: [] };
        case "part.text-start": {
          const messageId = `${runId}-${attempt}-${data.id}`;
          return {
            state: { ...state, open: [...open, messageId] },
            chunks: [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" }],
          };
        }
        case "part.text-delta":
          return send({
            type: "TEXT_MESSAGE_CONTENT",
            messageId: `${runId}-${attempt}-${data.id}`,
            delta: data.text,
          });
        case "part.text-end":
          return ended(state, [`${runId}-${attempt}-${data.id}`]);
        // A step that ends early leaves texts without an end, which the protocol demands.
        case "step.finished":
        case "step.failed":
        case "step.interrupted":
        case "step.retrying":
          return ended(state, open);
        case "part.tool-call": {
          const { toolCallId, toolName: toolCallName, input } = data;
          return send(
            { type: "TOOL_CALL_START", toolCallId, toolCallName },
            { type: "TOOL_CALL_ARGS", toolCallId, delta: JSON.stringify(input) },
            { type: "TOOL_CALL_END", toolCallId },
          );
        }
        case "tool.approval-requested":
          return send({ type: "CUSTOM", name: "approval", value: { toolCallId: data.callId } });
        case "tool.succeeded":
          return send(result(data.callId, data.output));
        case "tool.failed":
          return send(result(data.callId, data.error.message));
        case "turn.ended":
          return data.error === undefined
            ? { state: initial, chunks: [{ type: "RUN_FINISHED", threadId, runId }] }
            : { state: initial, chunks: [{ type: "RUN_ERROR", message: data.error.message }] };
        default:
          return send();
      }
    },
  };
}

function ended(state: State, ids: readonly string[]): { state: State; chunks: AgUiEvent[] } {
  return {
    state: { ...state, open: state.open.filter((id) => !ids.includes(id)) },
    chunks: ids.map((messageId) => ({ type: "TEXT_MESSAGE_END", messageId })),
  };
}

function result(toolCallId: string, output: unknown): AgUiEvent {
  return { type: "TOOL_CALL_RESULT", toolCallId, content: JSON.stringify(output) };
}
