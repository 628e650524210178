/**
 * Runs a piece of synchronous work that may never end, such as a regular expression or a glob that
 * a model wrote, and stops it when its time is over. The process is blocked for that long at most.
 */
import { createContext, Script } from "node:vm";

const box: { run: () => void } = { run: () => {} };
const context = createContext(box);
const script = new Script("run()");

/** Runs the work; throws what `onOver` makes when it takes longer than `milliseconds`. */
export function timeBoxed<T>(milliseconds: number, work: () => T, onOver: () => Error): T {
  let result: { readonly value: T } | undefined;
  box.run = () => {
    result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: milliseconds });
  } catch (error) {
    // The error is made in the context's own realm: it is no instance of our `Error`.
    const code =
      typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
    const over = code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw over ? onOver() : error;
  }
  if (result === undefined) throw onOver();
  return result.value;
}
