// A recorded session as a script: what the user said, what the model answered, and what its calls brought.
import { callInput } from "./call-input.ts";
import type { RecordedMessage, RecordedSession } from "./session-corpus.ts";

interface ScriptedCall {
  /** By its place: the ids that were recorded are not all there, and not all unique. */
  readonly id: string;
  readonly name: string;
  readonly input: unknown;
  readonly output: string;
  readonly failed: boolean;
}

/** One reply of the model with what came of its calls. */
export interface ScriptedReply {
  readonly text: string;
  readonly reasoning: string;
  readonly calls: readonly ScriptedCall[];
  /** Said while its calls ran. */
  readonly steer: string | undefined;
  /** What the provider billed for it; `input` is the whole prompt. */
  readonly usage: { readonly input: number; readonly output: number } | undefined;
}

export interface ScriptedTurn {
  readonly said: string;
  readonly replies: readonly ScriptedReply[];
}

/** The message where the question to a reply was not recorded. */
export const GO_ON = "Go on.";

/** A session's turns. A reply that calls tools is followed by another one of the same turn. */
export function recordedScript({ messages }: RecordedSession): readonly ScriptedTurn[] {
  const turns: { readonly said: string; readonly replies: ScriptedReply[] }[] = [];
  const spoken = messages.filter(({ role, mark }) => role !== "system" && mark === undefined);
  let count = 0;
  for (const [index, { role, content }] of spoken.entries()) {
    if (role === "tool") continue;
    const replies = turns.at(-1)?.replies;
    const last = replies?.at(-1);
    const goesOn = last !== undefined && last.calls.length > 0;
    if (role === "user") {
      const said = content === undefined || content === null || content === "" ? GO_ON : content;
      if (!goesOn) turns.push({ said, replies: [] });
      else replies?.splice(-1, 1, { ...last, steer: [last.steer ?? "", said].join("\n").trim() });
      continue;
    }
    const reply = replyAt(spoken, index, count++);
    if (replies === undefined || (last !== undefined && !goesOn)) {
      turns.push({ said: GO_ON, replies: [reply] });
    } else {
      replies.push(reply);
    }
  }
  return turns;
}

function replyAt(spoken: readonly RecordedMessage[], index: number, count: number): ScriptedReply {
  const { content, reasoning, toolCalls = [], usage } = spoken[index] ?? {};
  const after = spoken.slice(index + 1);
  const end = after.findIndex(({ role }) => role === "assistant");
  const results = (end === -1 ? after : after.slice(0, end)).filter(({ role }) => role === "tool");
  return {
    text: content ?? "",
    reasoning: reasoning ?? "",
    calls: toolCalls.map(({ id, name, input, inputText }, place) => {
      const named = results.find(({ toolCallId }) => toolCallId === id && id !== undefined);
      const result = named ?? results[place];
      return {
        id: `${count}.${place}`,
        name,
        input: callInput(inputText, input),
        output: result?.content ?? "",
        failed: result?.isError === true,
      };
    }),
    steer: undefined,
    usage: usage === undefined || usage.input === 0 ? undefined : usage,
  };
}
