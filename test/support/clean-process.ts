/** Runs around every test file of those that share a process: what one leaves behind, the next would find. */

import { afterAll, expect, vi } from "vitest";

function shared(): Readonly<Record<string, unknown>> {
  return {
    folder: process.cwd(),
    environment: { ...process.env },
    stdin: process.stdin,
    stdout: process.stdout.write,
    stderr: process.stderr.write,
    emitWarning: process.emitWarning,
    hasFakeTimers: vi.isFakeTimers(),
    Date,
    fetch,
    setTimeout,
    setInterval,
    setImmediate,
    queueMicrotask,
  };
}

const before = shared();
afterAll(() => {
  vi.restoreAllMocks();
  const after = shared();
  const left = Object.keys(before).filter((name) => !same(before[name], after[name]));
  expect(left, "a test file left the process other than it found it").toEqual([]);
});

function same(one: unknown, other: unknown): boolean {
  return (
    one === other || (typeof one === "object" && JSON.stringify(one) === JSON.stringify(other))
  );
}
