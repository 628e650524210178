/** A gate for scripted models: stops the model at a known place until the test opens it. */
import type { ScriptedGate } from "./scripted-step.ts";

/** A {@link ScriptedGate} with both ends in the test's hand. */
export interface Gate extends ScriptedGate {
  /** Resolves when the model waits here: everything before the gate has been read. */
  readonly reached: Promise<void>;
  /** Lets the model go on. */
  readonly open: () => void;
}

/**
 * Makes a gate to put between a step's parts or a block's deltas.
 *
 * @example
 * ```ts
 * const stop = gate();
 * const model = scriptedModel([{ parts: [{ type: "text", deltas: ["one ", stop, "two"] }] }]);
 * // start the turn, then:
 * await stop.reached; // "one " has been read, "two" has not been sent
 * stop.open();
 * ```
 */
export function gate(): Gate {
  const reached = Promise.withResolvers<void>();
  const opened = Promise.withResolvers<void>();
  return {
    type: "gate",
    until: opened.promise,
    arrive: reached.resolve,
    reached: reached.promise,
    open: opened.resolve,
  };
}
