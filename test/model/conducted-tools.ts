/**
 * Tools that end only when they are told to, and note that they were run. `plain` runs at once,
 * `guarded` needs approval, `asking` decides by a function whether it does, `slow` has a time limit,
 * `remote` is run by a client, `searching` by the provider, which answers later, `repeatable` may be run again after a crash, for `doubtful` a person is asked then.
 * A call is known by the key that it was given as its input: providers use call ids again.
 */

import { tool, type ToolSet } from "ai";
import { z } from "zod";

export type ToolKind =
  | "plain"
  | "guarded"
  | "asking"
  | "slow"
  | "missing"
  | "remote"
  | "searching"
  | "repeatable"
  | "doubtful";

/** Milliseconds that the slow tool may run. */
export const SLOW_LIMIT_MS = 5000;

const inputSchema = z.object({ key: z.string() });
type Input = z.infer<typeof inputSchema>;

export class ConductedTools {
  readonly tools: ToolSet;
  readonly #running = new Map<string, PromiseWithResolvers<unknown>>();
  #ends = 0;
  readonly #asked = new Map<string, PromiseWithResolvers<boolean>>();

  /** `onRun` is called with each run; `decide` says whether a call needs approval if no rule does. */
  constructor(onRun: (key: string) => void, decide?: (key: string) => Promise<boolean>) {
    const execute = ({ key }: Input): Promise<unknown> => {
      onRun(key);
      const work = Promise.withResolvers<unknown>();
      this.#running.set(key, work);
      return work.promise;
    };
    const needsApproval = ({ key }: Input): Promise<boolean> => {
      if (decide !== undefined) return decide(key);
      const decision = Promise.withResolvers<boolean>();
      this.#asked.set(key, decision);
      return decision.promise;
    };
    this.tools = {
      plain: tool({ inputSchema, execute }),
      slow: tool({ inputSchema, execute }),
      remote: tool({ inputSchema }),
      searching: {
        type: "provider",
        id: "test.searching",
        isProviderExecuted: true,
        supportsDeferredResults: true,
        args: {},
        inputSchema,
        outputSchema: z.unknown(),
      },
      repeatable: tool({ inputSchema, execute }),
      doubtful: tool({ inputSchema, execute }),
      // Deprecated in favour of a setting of `streamText`; it is how this runtime is told.
      // oxlint-disable-next-line typescript/no-deprecated
      guarded: tool({ inputSchema, execute, needsApproval: true }),
      // oxlint-disable-next-line typescript/no-deprecated
      asking: tool({ inputSchema, execute, needsApproval }),
    };
  }

  isRunning(key: string): boolean {
    return this.#running.has(key);
  }

  isAsked(key: string): boolean {
    return this.#asked.has(key);
  }

  /** The tool ends: with an output, or with an error. */
  end(key: string, error?: Error): void {
    const work = take(this.#running, key);
    if (error === undefined) work.resolve(outputs[this.#ends++ % outputs.length]);
    else work.reject(error);
  }

  /** Nobody waits any more for a tool that runs: it ends too late. */
  abandon(key: string): void {
    const work = take(this.#running, key);
    setImmediate(() => work.resolve("too late"));
  }

  /** Answers whether the call needs approval, or fails to. */
  decide(key: string, needed: boolean | Error): void {
    const decision = take(this.#asked, key);
    if (typeof needed === "boolean") decision.resolve(needed);
    else decision.reject(needed);
  }
}

const cycle: { self?: unknown } = {};
cycle.self = cycle;

/** Among them what JSON cannot hold. */
const outputs: readonly unknown[] = ["done", { done: true }, undefined, 2n ** 70n, cycle, () => 1];

function take<Work>(works: Map<string, Work>, key: string): Work {
  const work = works.get(key);
  if (work === undefined) throw new Error(`No tool is at work on ${key}.`);
  works.delete(key);
  return work;
}
