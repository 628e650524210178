/** Counts what is open: listeners on signals, timers, and the streams of a model. */

import { getEventListeners } from "node:events";
import { setImmediate } from "node:timers/promises";
import { vi } from "vitest";
import type { ScriptedModel } from "../../src/models/index.ts";

export interface OpenedThings extends Disposable {
  /** The model, whose streams are counted. */
  readonly counted: (model: ScriptedModel) => ScriptedModel;
  /** How many streams were opened in all. */
  readonly streamsOpened: number;
  /** How many signals were ever listened to. */
  readonly signals: number;
  /** What is open once everything has had its turn. */
  count(): Promise<{
    readonly listeners: number;
    readonly timers: number;
    readonly streams: number;
  }>;
}

/** Begins to count. */
export function openedThings(): OpenedThings {
  const listening = vi.spyOn(AbortSignal.prototype, "addEventListener");
  /** Those added since then, by signal: an earlier test may still take its own off a signal that all share. */
  function added(): ReadonlyMap<AbortSignal, ReadonlySet<unknown>> {
    const found = new Map<AbortSignal, Set<unknown>>();
    for (const [index, [, listener]] of listening.mock.calls.entries()) {
      const signal: unknown = listening.mock.contexts[index];
      if (!(signal instanceof AbortSignal)) continue;
      found.set(signal, (found.get(signal) ?? new Set()).add(listener));
    }
    return found;
  }
  const timers = new Set<unknown>();
  const { setTimeout, clearTimeout } = globalThis;
  vi.spyOn(globalThis, "setTimeout").mockImplementation(((
    tell: (...words: unknown[]) => void,
    ...rest: [number?, ...unknown[]]
  ) => {
    const timer = setTimeout(
      (...words: unknown[]) => {
        timers.delete(timer);
        tell(...words);
      },
      ...rest,
    );
    timers.add(timer);
    return timer;
  }) as typeof setTimeout);
  vi.spyOn(globalThis, "clearTimeout").mockImplementation((timer) => {
    timers.delete(timer);
    clearTimeout(timer);
  });
  let [opened, open] = [0, 0];

  function watched<Part>(stream: ReadableStream<Part>): ReadableStream<Part> {
    const reader = stream.getReader();
    opened += 1;
    open += 1;
    const ended = { yet: false };
    const end = (): void => {
      if (!ended.yet) open -= 1;
      ended.yet = true;
    };
    return new ReadableStream<Part>(
      {
        async pull(controller) {
          try {
            const next = await reader.read();
            if (!next.done) return controller.enqueue(next.value);
            end();
            controller.close();
          } catch (error) {
            end();
            throw error;
          }
        },
        async cancel(reason) {
          end();
          await reader.cancel(reason);
        },
      },
      { highWaterMark: 0 },
    );
  }

  return {
    counted: (model) => ({
      ...model,
      doStream: async (options) => {
        const result = await model.doStream(options);
        return { ...result, stream: watched(result.stream) };
      },
    }),
    get streamsOpened() {
      return opened;
    },
    get signals() {
      return added().size;
    },
    async count() {
      // What is released in a callback has been called back by then.
      for (let turn = 0; turn < 10; turn++) await setImmediate();
      const listeners = [...added()].flatMap(([signal, own]) =>
        getEventListeners(signal, "abort").filter((listener) => own.has(listener)),
      );
      return {
        listeners: listeners.length,
        timers: timers.size,
        streams: open,
      };
    },
    [Symbol.dispose]() {
      vi.restoreAllMocks();
    },
  };
}
