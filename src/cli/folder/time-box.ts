/** Runs synchronous work, such as a model's regular expression, with a time limit. It blocks the process. */
import { createContext, Script } from "node:vm";

const box: { run: () => void } = { run: () => {} };
const context = createContext(box);
const script = new Script("run()");

/** Runs the work; throws the error of `onOver` if it takes longer than `milliseconds`. */
export function timeBoxed<T>(milliseconds: number, work: () => T, onOver: () => Error): T {
  let result: { readonly value: T } | undefined;
  box.run = () => {
    result = { value: work() };
  };
  try {
    script.runInContext(context, { timeout: milliseconds });
  } catch (error) {
    // The error comes from the context's realm, so it is not an instance of our `Error`.
    const code =
      typeof error === "object" && error !== null && "code" in error ? error.code : undefined;
    const over = code === "ERR_SCRIPT_EXECUTION_TIMEOUT";
    throw over ? onOver() : error;
  }
  if (result === undefined) throw onOver();
  return result.value;
}
