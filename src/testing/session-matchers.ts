/**
 * Matchers over the events of a session, for any `expect` that can be extended (vitest, jest). They
 * are plain functions: nothing of a test runner is imported.
 */

import { isDeepStrictEqual } from "node:util";
import type { JsonValue, SessionEvent } from "../events/index.ts";
import { differenceText } from "./replay-difference.ts";
import { replay, type ReplayedAgent, type ReplayOptions } from "./replay.ts";

/** A tool by its name, or with the input that it was called with. */
export type ExpectedCall = string | readonly [toolName: string, input: JsonValue];

/** What a matcher answers to `expect`. */
export interface MatcherAnswer {
  readonly pass: boolean;
  readonly message: () => string;
}

/** What the matchers add to `expect(events)`. */
export interface SessionMatchers {
  /** The agent does again, event by event, what was recorded. Await it. */
  toReplay(agent: ReplayedAgent, options?: ReplayOptions): Promise<void>;
  /** The session's own tools were called like this: all calls, in the order in which they were made. */
  toHaveCalledTools(calls: readonly ExpectedCall[]): void;
}

/**
 * The matchers themselves.
 *
 * @example
 * expect.extend(sessionMatchers);
 * declare module "vitest" {
 *   interface Matchers<R extends void | Promise<void>, T> extends SessionMatchers {}
 * }
 * await expect(events).toReplay(agent);
 * expect(events).toHaveCalledTools(["search", ["book", { city: "Ulm" }]]);
 */
export const sessionMatchers: {
  readonly toReplay: (
    events: readonly SessionEvent[],
    agent: ReplayedAgent,
    options?: ReplayOptions,
  ) => Promise<MatcherAnswer>;
  readonly toHaveCalledTools: (
    events: readonly SessionEvent[],
    calls: readonly ExpectedCall[],
  ) => MatcherAnswer;
} = {
  async toReplay(events, agent, options) {
    const { difference } = await replay(events, agent, options);
    return {
      pass: difference === undefined,
      message: () =>
        difference === undefined
          ? "The session happens again as it was recorded, and should not."
          : differenceText(difference),
    };
  },

  toHaveCalledTools(events, calls) {
    const made = ownCalls(events);
    const expected = calls.map((call) =>
      typeof call === "string" ? { toolName: call } : pair(call),
    );
    const pass =
      made.length === expected.length &&
      made.every(({ toolName, input }, index) => {
        const one = expected[index];
        if (one?.toolName !== toolName) return false;
        return !("input" in one) || isDeepStrictEqual(one.input, input);
      });
    const told = (list: readonly object[]): string =>
      list.map((call) => `\n  ${JSON.stringify(call)}`).join("");
    return {
      pass,
      message: () =>
        `The tools ${pass ? "should not have been" : "were not"} called like this, and no others:${told(expected)}\nThey were called like this:${told(made)}`,
    };
  },
};

interface Call {
  readonly toolName: string;
  readonly input: JsonValue;
}

function pair([toolName, input]: Exclude<ExpectedCall, string>): Call {
  return { toolName, input };
}

/** Calls of the agent's tools; those that the provider ran itself are not. */
function ownCalls(events: readonly SessionEvent[]): readonly Call[] {
  return events.flatMap((event) =>
    event.type === "part.tool-call" && event.data.providerExecuted !== true
      ? [{ toolName: event.data.toolName, input: event.data.input ?? {} }]
      : [],
  );
}
