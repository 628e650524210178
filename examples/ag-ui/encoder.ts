/** An encoder of your own: the events of a session in the protocol AG-UI, as far as text and calls go. */

import type { EventEncoder } from "turnlog";

export interface AgUiEvent {
  readonly type: string;
  readonly [field: string]: unknown;
}

interface State {
  readonly runId: string;
  /** The messages without an end, by the ids of their texts, which providers use again in each step. */
  readonly open: Readonly<Record<string, string>>;
}

const between: State = { runId: "", open: {} };

export function agUi(threadId: string): EventEncoder<State, AgUiEvent> {
  return {
    initial: () => between,
    encode: (state, { type, position, data }) => {
      const { runId, open } = state;
      const send = (...chunks: readonly AgUiEvent[]) => ({ state, chunks });
      switch (type) {
        case "turn.started": {
          const begun = `${threadId}-${data.turn}`;
          return {
            state: { runId: begun, open: {} },
            chunks: [{ type: "RUN_STARTED", threadId, runId: begun }],
          };
        }
        case "part.text-start": {
          const messageId = `${threadId}-${position}`;
          return {
            state: { runId, open: { ...open, [data.id]: messageId } },
            chunks: [{ type: "TEXT_MESSAGE_START", messageId, role: "assistant" }],
          };
        }
        case "part.text-delta":
          return send({ type: "TEXT_MESSAGE_CONTENT", messageId: open[data.id], delta: data.text });
        case "part.text-end": {
          const { [data.id]: messageId, ...others } = open;
          return {
            state: { runId, open: others },
            chunks: [{ type: "TEXT_MESSAGE_END", messageId }],
          };
        }
        // A step that breaks off leaves texts without an end, which the protocol demands.
        case "step.failed":
        case "step.interrupted":
        case "step.retrying":
          return {
            state: { runId, open: {} },
            chunks: Object.values(open).map((messageId) => ({
              type: "TEXT_MESSAGE_END",
              messageId,
            })),
          };
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
        case "tool.failed": {
          const content = JSON.stringify("output" in data ? data.output : data.error.message);
          return send({ type: "TOOL_CALL_RESULT", toolCallId: data.callId, content });
        }
        case "turn.ended":
          return {
            state: between,
            chunks: [
              data.error === undefined
                ? { type: "RUN_FINISHED", threadId, runId }
                : { type: "RUN_ERROR", message: data.error.message },
            ],
          };
        default:
          return send();
      }
    },
  };
}
