/**
 * Counts what is open: listeners on signals, timers, and the streams of a model. Other files of the same process may
 * have left work behind that opens more, so only what follows from the counting test counts.
 */

import { AsyncLocalStorage } from "node:async_hooks";
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

const counting = new AsyncLocalStorage<symbol>();

/** Begins to count. */
export function openedThings(): OpenedThings {
  const own = Symbol("counting");
  counting.enterWith(own);
  const isOwn = (): boolean => counting.getStore() === own;
  const added = new Map<AbortSignal, Set<unknown>>();
  // Called on the signal that it is meant for.
  // oxlint-disable-next-line typescript/unbound-method
  const { addEventListener } = AbortSignal.prototype;
  vi.spyOn(AbortSignal.prototype, "addEventListener").mockImplementation(function listen(
    this: AbortSignal,
    ...given: Parameters<typeof addEventListener>
  ) {
    if (isOwn()) added.set(this, (added.get(this) ?? new Set()).add(given[1]));
    addEventListener.apply(this, given);
  });
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
    if (isOwn()) timers.add(timer);
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
      return added.size;
    },
    async count() {
      // What is released in a callback has been called back by then.
      for (let turn = 0; turn < 10; turn++) await setImmediate();
      const listeners = [...added].flatMap(([signal, own]) =>
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
