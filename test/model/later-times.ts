/** The times of the messages for later, by the log: none comes before its time, or before an earlier one. */

import type { SessionEvent } from "../../src/events/index.ts";

export class LaterTimes {
  readonly #times = new Map<string, number>();

  fold({ type, data }: SessionEvent): void {
    if (type === "message.queued" || type === "message.rescheduled") {
      if (data.notBefore === undefined) this.#times.delete(data.id);
      else this.#times.set(data.id, data.notBefore);
    } else if (type === "message.withdrawn") for (const id of data.ids) this.#times.delete(id);
  }

  /** Those whose time has come, while they wait for it in the log. */
  due(): readonly string[] {
    return [...this.#times].flatMap(([id, time]) => (time <= Date.now() ? [id] : []));
  }

  /** What is wrong with an event that the runtime recorded by itself. */
  problems({ position, time, type, data }: SessionEvent): readonly string[] {
    if (type !== "message.rescheduled" || data.notBefore !== undefined) return [];
    const own = this.#times.get(data.id) ?? 0;
    const earlier = [...this.#times].filter(([, one]) => one < own).map(([id]) => id);
    return [
      ...(time < own ? [`${position} ${data.id} comes before its time.`] : []),
      ...(earlier.length > 0 ? [`${position} ${data.id} comes before ${earlier.join(", ")}.`] : []),
    ];
  }
}
