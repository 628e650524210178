// A session that is told event by event, and what it is at any moment: for tests of what looks at it.
import type {
  EventBody,
  ModelName,
  ModelOutput,
  StoredUserContent,
  TokenUsage,
} from "../../src/events/index.ts";
import {
  calibration,
  contextView,
  history,
  promptCounts,
  usage,
  type CalibrationState,
  type ContextView,
  type HistoryState,
  type PromptCounts,
  type UsageState,
} from "../../src/projections/index.ts";

export const gpt: ModelName = { provider: "openai.responses", modelId: "gpt-5" };

export class Session {
  history: HistoryState = history.initial;
  view: ContextView = contextView.initial;
  usage: UsageState = usage.initial;
  calibration: CalibrationState = calibration.initial;
  counts: PromptCounts = promptCounts.initial;
  position = 0;
  #turn = 0;
  #step = 0;

  record(body: EventBody, at: number = this.position * 1000): void {
    this.position++;
    const event = { position: this.position, time: at, ...body };
    this.history = history.fold(this.history, event);
    this.view = contextView.fold(this.view, event);
    this.usage = usage.fold(this.usage, event);
    this.calibration = calibration.fold(this.calibration, event);
    this.counts = promptCounts.fold(this.counts, event);
  }

  get step(): number {
    return this.#step;
  }

  /** Goes on with steps of a turn that begins without a message. */
  resume(turn: number): void {
    this.#turn = turn;
  }

  mark(): Pick<Session, "history" | "view" | "usage" | "calibration" | "counts" | "position"> {
    const { history, view, usage, calibration, counts, position } = this;
    return { history, view, usage, calibration, counts, position };
  }

  /** As if nothing had been recorded since. */
  back(to: ReturnType<Session["mark"]>): void {
    Object.assign(this, to);
  }

  isPruned(step: number, callId: string): boolean {
    return this.view.prunings.some(({ calls }) =>
      calls.some((call) => call.step === step && call.callId === callId),
    );
  }

  ask(content: StoredUserContent, ...together: readonly StoredUserContent[]): void {
    this.#turn++;
    const turn = this.#turn;
    const ids = [content, ...together].map((one, index) => {
      const id = index === 0 ? `m${turn}` : `m${turn}.${index}`;
      this.record({ type: "message.queued", data: { id, content: one, delivery: "follow-up" } });
      return id;
    });
    this.record({ type: "turn.started", data: { turn, maxSteps: 99 } });
    this.record({ type: "message.delivered", data: { ids, turn, boundary: "turn" } });
  }

  start(model: ModelName = gpt): void {
    this.#step++;
    const [turn, step] = [this.#turn, this.#step];
    const estimate = { tokens: 1, basis: "length" } as const;
    this.record({
      type: "step.started",
      data: { turn, step, attempt: 1, model, promptDigest: "", estimate },
    });
  }

  think(text: string): void {
    this.#block("reasoning", text);
  }

  say(text: string): void {
    this.#block("text", text);
  }

  #block(kind: "text" | "reasoning", text: string): void {
    this.record({ type: `part.${kind}-start`, data: { id: "b" } });
    this.record({ type: `part.${kind}-delta`, data: { id: "b", text } });
    this.record({ type: `part.${kind}-end`, data: { id: "b" } });
  }

  call(toolCallId: string, toolName = "read", path = "a"): void {
    this.record({ type: "part.tool-call", data: { toolCallId, toolName, input: { path } } });
  }

  finish(billed: Partial<TokenUsage> = {}, finishReason: "stop" | "tool-calls" = "stop"): void {
    const spent: TokenUsage = {
      basis: "measured",
      inputTokens: 1000,
      outputTokens: 100,
      ...billed,
    };
    const step = this.#step;
    this.record({
      type: "step.finished",
      data: { step, finishReason, usage: spent, response: {} },
    });
  }

  answer(callId: string, output: string, modelOutput?: ModelOutput): void {
    const told = modelOutput === undefined ? { output } : { output, modelOutput };
    this.record({ type: "tool.succeeded", data: { step: this.#step, callId, ...told } });
  }

  failed(callId: string): void {
    const error = { name: "Error", message: "No such file." };
    this.record({ type: "tool.failed", data: { step: this.#step, callId, error } });
  }

  /** The present prompt is counted. */
  count(tokens: number, model: ModelName = gpt): void {
    const counter = "provider";
    this.record({ type: "context.counted", data: { counter, model, tokens, estimatedTokens: 1 } });
  }

  /** A call that the provider runs itself. */
  ownCall(toolCallId: string): void {
    const input = { query: "a" };
    this.record({
      type: "part.tool-call",
      data: { toolCallId, toolName: "search", input, providerExecuted: true },
    });
  }

  ownResult(toolCallId: string): void {
    this.record({
      type: "part.tool-result",
      data: { toolCallId, toolName: "search", output: { found: 1 }, providerExecuted: true },
    });
  }

  /** A message that comes while the turn runs. */
  steer(content: string): void {
    const id = `s${this.position}`;
    const turn = this.#turn;
    this.record({ type: "message.queued", data: { id, content, delivery: "steer" } });
    this.record({ type: "message.delivered", data: { ids: [id], turn, boundary: "step" } });
  }

  end(): void {
    this.record({ type: "turn.ended", data: { turn: this.#turn, reason: "stop" } });
  }

  /** A step that calls a tool for each output. */
  work(...outputs: readonly string[]): void {
    this.start();
    for (const index of outputs.keys()) this.call(`c${index}`);
    this.finish({}, "tool-calls");
    for (const [index, output] of outputs.entries()) this.answer(`c${index}`, output);
  }
}
