/**
 * A session of any length as planners see it, folded turn by turn: what a turn leaves is put behind
 * what the others left, as folding one session of 100,000 messages would copy its list again and again.
 */

import type { EventBody, ModelName } from "../src/events/index.ts";
import {
  calibration,
  contextView,
  history,
  usage,
  type CalibrationState,
  type ContextView,
  type HistoryItem,
  type HistoryState,
  type StepUsage,
  type UsageState,
} from "../src/projections/index.ts";

export interface LongSession {
  readonly history: HistoryState;
  readonly view: ContextView;
  readonly usage: UsageState;
  readonly calibration: CalibrationState;
}

export const BENCH_MODEL: ModelName = { provider: "bench", modelId: "bench" };

/** Messages of a turn: a request, and steps of a reply and a result each. */
const STEPS_PER_TURN = 10;
/** Tokens that each step adds, as they are billed. */
const BILLED = 600;

export class LongHistory {
  readonly #items: HistoryItem[] = [];
  readonly #steps: StepUsage[] = [];
  #state: LongSession = {
    history: history.initial,
    view: contextView.initial,
    usage: usage.initial,
    calibration: calibration.initial,
  };
  #position = 0;
  #turn = 0;
  #step = 0;
  #messages = 0;

  /** The session as it is before its next step. Everything that it has shown stays as it is. */
  get session(): LongSession {
    const { history: last, usage: spent, ...rest } = this.#state;
    return {
      ...rest,
      history: { ...last, items: [...this.#items, ...last.items] },
      usage: { ...spent, steps: [...this.#steps, ...spent.steps] },
    };
  }

  /** Goes on until the prompt has so many messages, or one more. */
  growTo(messages: number): void {
    while (this.#messages < messages) {
      if (this.#step % STEPS_PER_TURN === 0) this.#beginTurn();
      this.#work();
    }
  }

  #record(body: EventBody): void {
    this.#position++;
    const event = { position: this.#position, time: this.#position, ...body };
    const { history: told, view, usage: spent, calibration: learned } = this.#state;
    this.#state = {
      history: history.fold(told, event),
      view: contextView.fold(view, event),
      usage: usage.fold(spent, event),
      calibration: calibration.fold(learned, event),
    };
  }

  #beginTurn(): void {
    if (this.#turn > 0) {
      this.#record({ type: "turn.ended", data: { turn: this.#turn, reason: "stop" } });
      const { history: told, usage: spent, ...rest } = this.#state;
      this.#items.push(...told.items);
      this.#steps.push(...spent.steps);
      this.#state = {
        ...rest,
        history: { ...told, items: [] },
        usage: { ...spent, steps: [] },
      };
    }
    this.#turn++;
    const [turn, id] = [this.#turn, `m${this.#turn}`];
    const content = `Look at part ${turn} of it, and say what is there.`;
    this.#record({ type: "message.queued", data: { id, content, delivery: "follow-up" } });
    this.#record({ type: "turn.started", data: { turn, maxSteps: 50 } });
    this.#record({ type: "message.delivered", data: { ids: [id], turn, boundary: "turn" } });
    this.#messages++;
  }

  #work(): void {
    this.#step++;
    const [turn, step, model] = [this.#turn, this.#step, BENCH_MODEL];
    const estimate = { tokens: BILLED * step, basis: "length" } as const;
    this.#record({
      type: "step.started",
      data: { turn, step, attempt: 1, model, promptDigest: "", estimate },
    });
    this.#record({ type: "part.text-start", data: { id: "b" } });
    this.#record({ type: "part.text-delta", data: { id: "b", text: `I look at line ${step}.` } });
    this.#record({ type: "part.text-end", data: { id: "b" } });
    this.#record({
      type: "part.tool-call",
      data: { toolCallId: `c${step}`, toolName: "read", input: { path: `part-${turn}.md` } },
    });
    this.#record({
      type: "step.finished",
      data: {
        step,
        finishReason: "tool-calls",
        usage: { basis: "measured", inputTokens: BILLED * step, outputTokens: 30 },
        response: {},
      },
    });
    this.#record({
      type: "tool.succeeded",
      data: { step, callId: `c${step}`, output: outputOf(step) },
    });
    this.#messages += 2;
  }
}

/** Two kilobytes, of which no two are alike. */
function outputOf(step: number): string {
  return Array.from(
    { length: 40 },
    (_, line) => `${step}.${line}: it says that ${step * line} of them are there`,
  ).join("\n");
}
