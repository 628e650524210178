/**
 * The structured outputs of a replayed session: a turn ends with its output where its end was recorded. A turn whose
 * message had an `output`, which no log has, gets the recorded outcome. For the stage.
 */

import type { OutputInterface } from "ai";
import type { Agent } from "../agent/index.ts";
import type { SessionEvent, TurnOutput } from "../events/index.ts";
import { isTimeUp, recordedError } from "../models/index.ts";
import type { RecordedOrder } from "./recorded-order.ts";

type Output = OutputInterface<unknown>;

export class RecordedOutputs {
  readonly #events: readonly SessionEvent[];
  readonly #order: RecordedOrder;
  /** By the position of a turn's end: resolved once its output is asked for. */
  readonly #asked = new Map<number, PromiseWithResolvers<void>>();

  /** Whether the agent has an output. */
  #isOwn = false;

  constructor(events: readonly SessionEvent[], order: RecordedOrder) {
    this.#events = events;
    this.#order = order;
  }

  /** The agent, whose own output is ready where the turn ended. */
  held({ output, ...agent }: Agent): Agent {
    this.#isOwn = output !== undefined;
    if (output === undefined) return agent;
    let failed: number | undefined;
    const held: typeof output = {
      ...output,
      parseCompleteOutput: async (...given) => {
        const position = this.#order.position + 1;
        const isRepair = failed === position;
        failed = position;
        const parsed: Promise<unknown> = output.parseCompleteOutput(...given);
        await this.#ready(position);
        const value = await parsed;
        // An earlier release repaired no text.
        const recorded = this.#endAfter(position)?.data.output;
        if (isRepair && this.#order.agrees && recorded?.error !== undefined) outcomeOf(recorded);
        return value;
      },
    };
    return { ...agent, output: held };
  }

  /** The output of a recorded message; undefined without one, and for an agent with its own, which is compared. */
  of(event: SessionEvent, agent: Agent): Output | undefined {
    if (event.type !== "message.queued" || agent.output !== undefined) return undefined;
    const messageId = event.data.id;
    const delivery = this.#events.find(
      ({ type, data }) => type === "message.delivered" && data.ids.includes(messageId),
    );
    const end = delivery && this.#endAfter(delivery.position);
    if (end === undefined) return undefined;
    const { output } = end.data;
    if (output === undefined && !isStoppedAtEnd(this.#events.slice(0, end.position)))
      return undefined;
    this.#askedFor(end.position);
    return {
      name: "recorded",
      responseFormat: Promise.resolve(undefined),
      parseCompleteOutput: async ({ text }) => {
        await this.#ready(end.position);
        if (!this.#order.agrees) return parsed(text, output);
        // It is read once more, as it was then.
        if (output?.repaired === true) JSON.parse(text);
        return outcomeOf(output);
      },
      parsePartialOutput: () => Promise.resolve(undefined),
      createElementStreamTransform: () => undefined,
    };
  }

  /** Resolves when the output of the turn that was stopped at a position is asked for. Undefined: it was not. */
  asked(position: number): Promise<void> | undefined {
    const end = this.#endAfter(position)?.position ?? position;
    const isParsed = this.#isOwn || this.#asked.has(end);
    if (!isParsed || !isStoppedAtEnd(this.#events.slice(0, position))) return undefined;
    return this.#askedFor(end).promise;
  }

  async #ready(position: number): Promise<void> {
    const end = this.#endAfter(position)?.position ?? position;
    this.#askedFor(end).resolve();
    await this.#order.due(end);
  }

  #askedFor(end: number): PromiseWithResolvers<void> {
    const asked = this.#asked.get(end) ?? Promise.withResolvers<void>();
    this.#asked.set(end, asked);
    return asked;
  }

  #endAfter(position: number): SessionEvent<"turn.ended"> | undefined {
    const end = this.#events.find(
      ({ position: at, type }) => at >= position && type === "turn.ended",
    );
    return end?.type === "turn.ended" ? end : undefined;
  }
}

/** Another text in a form like the recorded one: no log has the schema. */
function parsed(text: string, output: TurnOutput | undefined): unknown {
  return typeof output?.value === "string" ? text : JSON.parse(text);
}

function outcomeOf(output: TurnOutput | undefined): unknown {
  if (output?.error !== undefined) throw recordedError(output.error);
  return output?.value ?? null;
}

/** Whether a stop came after the last step of a turn and its calls: its output was being parsed. */
function isStoppedAtEnd(events: readonly SessionEvent[]): boolean {
  const last = events.findLastIndex(
    ({ type }) => type.startsWith("step.") || type.startsWith("tool.") || type === "turn.started",
  );
  const step = events[last];
  return (
    step?.type === "step.finished" &&
    step.data.finishReason !== "tool-calls" &&
    events.slice(last).some((event) => event.type === "turn.cancel-requested" || isTimeUp(event))
  );
}
