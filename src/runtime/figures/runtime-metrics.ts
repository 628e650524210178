/** Figures for operators by OpenTelemetry's API, taken from the events that live sessions record. */

import type { SessionEvent } from "../../events/index.ts";
import { openCalls } from "../../machines/index.ts";
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
    addCallback(look: (result: { observe(value: number): void }) => void): void;
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
  readonly #firstToken: Recorder;

  constructor(meter: RuntimeMeter, liveSessions: () => number) {
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
  }

  recorded(session: string, event: SessionEvent, { queue, machine }: SessionState): void {
    this.#events.add(1, { family: event.type.slice(0, event.type.indexOf(".")) });
    if (event.type.startsWith("part.") && event.type !== "part.start-step")
      this.#heard(session, event);
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
