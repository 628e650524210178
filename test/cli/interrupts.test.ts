/** What Ctrl-C and SIGTERM do, by the order in which they come. */
import { EventEmitter } from "node:events";
import { describe, expect, it } from "vitest";
import type { ExitCode } from "../../src/cli/output/error-report.ts";
import { takeInterrupts, type Interrupts } from "../../src/cli/chat/host/interrupts.ts";

interface Stage {
  readonly signals: EventEmitter;
  readonly interrupts: Interrupts;
  readonly left: ExitCode[];
  readonly closing: PromiseWithResolvers<void>;
  /** Moves the clock. */
  readonly pass: (milliseconds: number) => void;
}

function stage(): Stage {
  const signals = new EventEmitter();
  const left: ExitCode[] = [];
  const closing = Promise.withResolvers<void>();
  let time = 0;
  const interrupts = takeInterrupts({
    signals,
    close: () => closing.promise,
    leave: (code) => left.push(code),
    now: () => time,
  });
  return {
    signals,
    interrupts,
    left,
    closing,
    pass(milliseconds) {
      time += milliseconds;
    },
  };
}

describe("Ctrl-C", () => {
  it("is for what runs as long as that takes it, and leaves when not", async () => {
    const { signals, interrupts, left, pass } = stage();
    let taken = 0;
    const work = Promise.withResolvers<void>();
    const during = interrupts.during(
      () => (taken++ < 2 ? "taken" : "leave"),
      () => work.promise,
    );
    signals.emit("SIGINT");
    pass(1000);
    signals.emit("SIGINT");
    expect([taken, left]).toEqual([2, []]);
    pass(1000);
    signals.emit("SIGINT");
    expect([taken, left]).toEqual([3, [130]]);
    work.resolve();
    await during;
  });

  it("counts once when the parent process passes it on a second time", async () => {
    const { signals, interrupts, left, pass } = stage();
    let cancelled = 0;
    const during = interrupts.during(
      () => {
        cancelled++;
        return "taken";
      },
      () => Promise.resolve(),
    );
    signals.emit("SIGINT");
    pass(5);
    signals.emit("SIGINT");
    await during;
    pass(5);
    signals.emit("SIGINT");
    expect([cancelled, left]).toEqual([1, []]);
  });

  it("cancels each turn anew", async () => {
    const { signals, interrupts, left, pass } = stage();
    let cancelled = 0;
    for (const turn of [1, 2, 3]) {
      const during = interrupts.during(
        () => {
          cancelled++;
          return "taken";
        },
        () => Promise.resolve(),
      );
      pass(1000);
      signals.emit("SIGINT");
      await during;
      expect(cancelled).toBe(turn);
    }
    expect(left).toEqual([]);
  });

  it("leaves at once when no turn runs", () => {
    const { signals, left } = stage();
    signals.emit("SIGINT");
    expect(left).toEqual([130]);
  });
});

describe("SIGTERM and SIGHUP", () => {
  it.each(["SIGTERM", "SIGHUP"])("%s closes the store, then leaves", async (signal) => {
    const { signals, interrupts, left, closing } = stage();
    signals.emit(signal);
    expect([interrupts.ending.aborted, left]).toEqual([true, []]);
    closing.resolve();
    await closing.promise;
    expect(left).toEqual([143]);
  });

  it("leaves without waiting when it comes again", () => {
    const { signals, left } = stage();
    signals.emit("SIGTERM");
    signals.emit("SIGTERM");
    expect(left).toEqual([143]);
  });

  it("is no longer listened to when the chat is over", () => {
    const { signals, interrupts } = stage();
    interrupts[Symbol.dispose]();
    expect(signals.eventNames()).toEqual([]);
  });
});
