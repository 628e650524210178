/** Runs around every test file of those that share a process: what one leaves behind, the next would find. */

import { afterAll, vi } from "vitest";

function shared(): Readonly<Record<string, unknown>> {
  const { stdin, stdout, stderr } = process;
  // `sharp` sets it when it is loaded.
  const { VIPSHOME: _, ...env } = process.env;
  return {
    "the folder": process.cwd(),
    "the environment": JSON.stringify(env),
    stdin,
    "a stream": Object.hasOwn(stdout, "write") || Object.hasOwn(stderr, "write"),
    "fake timers": vi.isFakeTimers(),
    Date,
    fetch,
    setTimeout,
    setInterval,
    setImmediate,
  };
}

const before = shared();
afterAll(() => {
  vi.restoreAllMocks();
  const after = shared();
  const left = Object.keys(before).filter((name) => before[name] !== after[name]);
  if (left.length > 0) throw new Error(`This file leaves behind: ${left.join(", ")}.`);
});
