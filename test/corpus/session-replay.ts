// A recorded session as the events of a log: what was said, called and answered, and what was billed.
import {
  defined,
  type EventBody,
  type ModelName,
  type SessionEvent,
} from "../../src/events/index.ts";
import {
  calibration,
  contextView,
  history,
  usage,
  type CalibrationState,
  type ContextView,
  type HistoryState,
  type UsageState,
} from "../../src/projections/index.ts";
import { callInput } from "./call-input.ts";
import type { RecordedMessage, RecordedSession } from "./session-corpus.ts";

interface Folded {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly usage: UsageState;
  readonly calibration: CalibrationState;
}

const nothing: Folded = {
  history: history.initial,
  view: contextView.initial,
  usage: usage.initial,
  calibration: calibration.initial,
};

function fold(state: Folded, event: SessionEvent): Folded {
  return {
    history: history.fold(state.history, event),
    view: contextView.fold(state.view, event),
    usage: usage.fold(state.usage, event),
    calibration: calibration.fold(state.calibration, event),
  };
}

/** The provider of a model, as the AI SDK would name it. */
export function modelOf({ model }: RecordedSession): ModelName {
  const provider = /claude/.test(model)
    ? "anthropic.messages"
    : /deepseek/.test(model)
      ? "deepseek.chat"
      : "openai.chat";
  return { provider, modelId: model };
}

/** Folds a session message by message; `onStep` sees the state before each step and says its estimate. */
export class SessionReplay {
  state: Folded = nothing;
  readonly events: SessionEvent[] = [];
  readonly #model: ModelName;
  #position = 0;
  #turn = 0;
  #step = 0;

  constructor(model: ModelName, learned: CalibrationState = calibration.initial) {
    this.#model = model;
    this.state = { ...nothing, calibration: learned };
  }

  record(body: EventBody): void {
    this.#position++;
    const event = { position: this.#position, time: this.#position, ...body };
    this.events.push(event);
    this.state = fold(this.state, event);
  }

  user(content: string): void {
    this.#turn++;
    const id = `m${this.#turn}`;
    this.record({ type: "message.queued", data: { id, content, delivery: "follow-up" } });
    this.record({ type: "turn.started", data: { turn: this.#turn, maxSteps: 1000 } });
    this.record({
      type: "message.delivered",
      data: { ids: [id], turn: this.#turn, boundary: "turn" },
    });
  }

  start(estimate: Extract<EventBody, { type: "step.started" }>["data"]["estimate"]): void {
    this.#step++;
    const [turn, step, model] = [Math.max(1, this.#turn), this.#step, this.#model];
    this.record({
      type: "step.started",
      data: { turn, step, attempt: 1, model, promptDigest: "", estimate },
    });
  }

  finish({ content, toolCalls, reasoning, usage: billed }: RecordedMessage): void {
    const step = this.#step;
    if (reasoning !== undefined && reasoning !== "") this.#block("reasoning", reasoning);
    if (content !== undefined && content !== null && content !== "") this.#block("text", content);
    for (const [index, call] of (toolCalls ?? []).entries()) {
      this.record({
        type: "part.tool-call",
        data: {
          toolCallId: call.id ?? `call${index}`,
          toolName: call.name,
          input: callInput(call.inputText, call.input),
        },
      });
    }
    const measured = billed !== undefined && billed.input > 0;
    this.record({
      type: "step.finished",
      data: {
        step,
        finishReason: toolCalls === undefined ? "stop" : "tool-calls",
        usage: {
          basis: measured ? "measured" : "estimated",
          inputTokens: billed?.input ?? 0,
          outputTokens: billed?.output ?? 0,
          ...defined({ cacheReadTokens: billed?.cacheRead, cacheWriteTokens: billed?.cacheWrite }),
        },
        response: {},
      },
    });
  }

  #block(kind: "text" | "reasoning", text: string): void {
    this.record({ type: `part.${kind}-start`, data: { id: "b" } });
    this.record({ type: `part.${kind}-delta`, data: { id: "b", text } });
    this.record({ type: `part.${kind}-end`, data: { id: "b" } });
  }

  result({ toolCallId = "call0", content }: RecordedMessage): void {
    this.record({
      type: "tool.succeeded",
      data: { step: this.#step, callId: toolCallId, output: content ?? "" },
    });
  }
}
