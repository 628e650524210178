/** An encoder of your own: the events of a session as the chunks of OpenAI's chat completions, texts and calls. */

import type { EventEncoder } from "turnlog";

export interface Chunk {
  readonly id: string;
  readonly object: "chat.completion.chunk";
  readonly choices: readonly [
    { readonly index: 0; readonly delta: object; readonly finish_reason: string | null },
  ];
}

interface State {
  readonly turn: number;
  /** The calls of the running turn so far: the protocol counts them. */
  readonly calls: number;
}

const between: State = { turn: 0, calls: 0 };

export function completions(session: string): EventEncoder<State, Chunk> {
  return {
    initial: () => between,
    encode: (state, { type, data }) => {
      const chunk = (delta: object, reason: string | null = null): readonly Chunk[] => {
        const id = `${session}-${state.turn}`;
        const choices = [{ index: 0, delta, finish_reason: reason }] as const;
        return [{ id, object: "chat.completion.chunk", choices }];
      };
      switch (type) {
        case "turn.started":
          return { state: { turn: data.turn, calls: 0 }, chunks: [] };
        case "part.text-delta":
          return { state, chunks: chunk({ role: "assistant", content: data.text }) };
        case "part.tool-call": {
          const called = { name: data.toolName, arguments: JSON.stringify(data.input) };
          const call = { index: state.calls, id: data.toolCallId, type: "function" };
          return {
            state: { ...state, calls: state.calls + 1 },
            chunks: chunk({ tool_calls: [{ ...call, function: called }] }),
          };
        }
        case "turn.ended":
          return {
            state: between,
            chunks: chunk({}, data.reason === "length" ? "length" : "stop"),
          };
        default:
          return { state, chunks: [] };
      }
    },
  };
}
