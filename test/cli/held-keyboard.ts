/** A keyboard without a terminal: what is written to `input` are the keys that a person presses. */
import { EventEmitter } from "node:events";
import { type Key, openKeyboard, type KeyboardOptions } from "../../src/cli/terminal/keyboard.ts";

export interface HeldKeyboard extends Disposable {
  readonly input: EventEmitter;
  /** Each change of raw mode. */
  readonly modes: readonly boolean[];
  /** What the terminal was told. */
  readonly told: readonly string[];
  /** Sends what a terminal sends for keys. */
  type(keys: string | Buffer): void;
}

export function heldKeyboard(onKey: (key: Key) => void): HeldKeyboard {
  const modes: boolean[] = [];
  const told: string[] = [];
  const emitter = new EventEmitter();
  const input = Object.assign(emitter, {
    setRawMode: (mode: boolean) => (modes.push(mode), input),
    resume: () => input,
    pause: () => input,
  }) as unknown as KeyboardOptions["input"] & EventEmitter;
  const keyboard = openKeyboard({ input, onKey, write: (sequence) => told.push(sequence) });
  return {
    input,
    modes,
    told,
    type: (keys) => void input.emit("data", Buffer.from(keys)),
    [Symbol.dispose]: () => keyboard[Symbol.dispose](),
  };
}
