/** What turnlog finds in Node without an import. The page loads it first; what a program prints is shown there. */

import { Buffer } from "buffer/";

const output = document.querySelector("output");

function print(text: string): void {
  output?.append(text);
}

const shown = (value: unknown): string =>
  typeof value === "string" ? value : (JSON.stringify(value, undefined, 2) ?? String(value));

console.log = (...values: readonly unknown[]) => print(`${values.map(shown).join(" ")}\n`);

Object.assign(globalThis, {
  Buffer,
  process: {
    env: {},
    version: "v24.0.0",
    versions: { node: "24.0.0" },
    cwd: () => "/",
    on: () => {},
    once: () => {},
    off: () => {},
    emitWarning: (warning: unknown) => print(`${String(warning)}\n`),
    nextTick: (act: (...values: readonly unknown[]) => void, ...values: readonly unknown[]) =>
      queueMicrotask(() => act(...values)),
    stdout: { write: print },
  },
});

// A timer of Node has these; here it is a number, which keeps no process alive.
for (const name of ["ref", "unref"])
  Object.defineProperty(Number.prototype, name, {
    value(this: number) {
      return this;
    },
  });
