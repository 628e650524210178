/** Figures for operators by OpenTelemetry's API, taken from the events that live sessions record. */

import type { SessionEvent } from "../../events/index.ts";
import { type KnownLimits, uncheckedCallCost } from "../../context/index.ts";
import type { Circuits } from "../model/failover.ts";
import { openCalls } from "../../machines/index.ts";
import { modelKey, ownSteps } from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";

interface Counter {
  add(value: number, attributes?: Readonly<Record<string, string>>): void;
}

interface Recorder {
  record(value: number): void;
}

interface Options {
  readonly description: string;
  readonly unit: string;
}

/** The part of OpenTelemetry's `Meter` that a runtime uses. */
export interface RuntimeMeter {
  createCounter(name: string, options: Options): Counter;
  createHistogram(name: string, options: Options): Recorder;
  createObservableGauge(
    name: string,
    options: Options,
  ): {
    addCallback(
      look: (result: {
        observe(value: number, attributes?: Readonly<Record<string, string>>): void;
      }) => void,
    ): void;
  };
}

interface Waiting {
  readonly messages: number;
  readonly people: number;
}

export class RuntimeMetrics {
  readonly #waiting = new Map<string, Waiting>();
  /** When the running call of a session began, until its first token. */
  readonly #called = new Map<string, number>();
  readonly #events: Counter;
  readonly #turns: Counter;
  readonly #compactions: Counter;
  readonly #recoveries: Counter;
  readonly #failovers: Counter;
  readonly #firstToken: Recorder;
  readonly #cost: Counter;
  readonly #input: Counter;
  readonly #read: Counter;
  readonly #written: Counter;

  constructor(meter: RuntimeMeter, liveSessions: () => number, circuits?: Circuits) {
    const counter = (name: string, unit: string, description: string): Counter =>
      meter.createCounter(`turnlog.${name}`, { unit: `{${unit}}`, description });
    this.#events = counter("events", "event", "Recorded events");
    this.#turns = counter("turns", "turn", "Ended turns by their reason");
    this.#compactions = counter("compactions", "compaction", "Accepted compactions");
    this.#recoveries = counter(
      "recoveries",
      "recovery",
      "Turns found unfinished, by their outcome",
    );
    this.#failovers = counter("failovers", "failover", "Steps that another model took over");
    const tokens = (name: string, description: string): Counter =>
      counter(name, "token", description);
    this.#cost = meter.createCounter("turnlog.cost", {
      unit: "USD",
      description: "US dollars of model calls with a known price",
    });
    this.#input = tokens("cache.input_tokens", "Tokens of prompts");
    this.#read = tokens("cache.read_tokens", "Of these, read from the provider's cache");
    this.#written = tokens("cache.written_tokens", "Of these, written to it");
    this.#firstToken = meter.createHistogram("turnlog.time_to_first_token", {
      unit: "s",
      description: "From the start of a model call to its first part",
    });
    const gauge = (name: string, unit: string, description: string, value: () => number): void =>
      meter
        .createObservableGauge(`turnlog.${name}`, { unit: `{${unit}}`, description })
        .addCallback((result) => {
          result.observe(value());
        });
    gauge("sessions.live", "session", "Sessions in memory", liveSessions);
    gauge("queue.messages", "message", "Messages that wait for a turn", () =>
      this.#sum("messages"),
    );
    gauge("calls.waiting", "call", "Calls that wait for people", () => this.#sum("people"));
    meter
      .createObservableGauge("turnlog.circuits.failing", {
        unit: "{failure}",
        description:
          "Failures for good in a row of a provider or model that has not answered since",
      })
      .addCallback((result) => {
        for (const { provider, modelId, state, failures } of circuits?.list() ?? [])
          result.observe(failures, {
            model: modelId === undefined ? provider : modelKey({ provider, modelId }),
            state,
          });
      });
  }

  /** `known`: the prices of the session's agent. */
  recorded(session: string, event: SessionEvent, state: SessionState, known: KnownLimits): void {
    const { queue, machine } = state;
    this.#events.add(1, { family: event.type.slice(0, event.type.indexOf(".")) });
    if (event.type.startsWith("part.") && event.type !== "part.start-step")
      this.#heard(session, event);
    this.#spent(event, state, known);
    const people = machine.matches("tools") ? openCalls(machine.context).asking : 0;
    const messages = queue.waiting.length;
    if (people + messages > 0) this.#waiting.set(session, { messages, people });
    else this.#waiting.delete(session);
    switch (event.type) {
      case "step.started":
        this.#called.set(session, event.time);
        return;
      case "turn.ended":
        this.#called.delete(session);
        return this.#turns.add(1, { reason: event.data.reason });
      case "context.compacted":
        return this.#compactions.add(1);
      case "step.failed-over": {
        const { from, to, why } = event.data;
        return this.#failovers.add(1, { from: modelKey(from), to: modelKey(to), why });
      }
      case "session.recovered":
        return this.#recoveries.add(1, { policy: event.data.policy });
      default:
    }
  }

  /** A session that is not live runs no call; its messages still wait. */
  ended(session: string): void {
    this.#called.delete(session);
  }

  forget(session: string): void {
    this.ended(session);
    this.#waiting.delete(session);
  }

  #spent(event: SessionEvent, { usage }: SessionState, known: KnownLimits): void {
    if (!("usage" in event.data) || event.data.usage === undefined) return;
    const isStep = event.type !== "step.retrying" && event.type.startsWith("step.");
    // A fork does not pay for the step that its source began.
    const call = isStep ? ownSteps(usage).at(-1) : usage.beside.at(-1);
    if (call === undefined) return;
    const { model, time, usage: used } = call;
    const purpose = isStep ? "answer" : event.type === "step.retrying" ? "retry" : "summary";
    const of = { purpose, ...(model && { model: modelKey(model) }) };
    const dollars = model && uncheckedCallCost(model, used, time, known);
    if (dollars !== undefined) this.#cost.add(dollars, of);
    this.#input.add(used.inputTokens, of);
    this.#read.add(used.cacheReadTokens ?? 0, of);
    this.#written.add(used.cacheWriteTokens ?? 0, of);
  }

  #heard(session: string, { time }: SessionEvent): void {
    const began = this.#called.get(session);
    if (began === undefined) return;
    this.#called.delete(session);
    this.#firstToken.record((time - began) / 1000);
  }

  #sum(what: keyof Waiting): number {
    let sum = 0;
    for (const waiting of this.#waiting.values()) sum += waiting[what];
    return sum;
  }
}
