/** Matchers over the events of a session for any extensible `expect` (vitest, jest). They import no test runner. */

import { isDeepStrictEqual } from "node:util";
import type { JsonValue, SessionEvent } from "../events/index.ts";
import { differenceText, replay, type ReplayedAgent, type ReplayOptions } from "../replay/index.ts";

/** A tool by name, or by name and input. */
export type ExpectedCall = string | readonly [toolName: string, input: JsonValue];

export interface MatcherAnswer {
  readonly pass: boolean;
  readonly message: () => string;
}

/**
 * The matchers of `expect(events)`.
 * @example
 * import type { SessionMatchers } from "turnlog/testing";
 * declare module "vitest" {
 *   interface Matchers<R extends void | Promise<void>, T> extends SessionMatchers {}
 * }
 */
export interface SessionMatchers {
  /** The agent repeats the session exactly, event by event. Returns a promise. */
  toReplay(agent: ReplayedAgent, options?: ReplayOptions): Promise<void>;
  /** The session called exactly these tools, in this order. */
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
          ? "The agent repeats the session exactly as it was recorded, but should not."
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
    const lines = (list: readonly object[]): string =>
      list.map((call) => `\n  ${JSON.stringify(call)}`).join("");
    return {
      pass,
      message: () =>
        `The tools ${pass ? "should not have been" : "were not"} called like this, and no others:${lines(expected)}\nThey were called like this:${lines(made)}`,
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

/** Calls of the agent's tools, without calls that the provider ran. */
function ownCalls(events: readonly SessionEvent[]): readonly Call[] {
  return events.flatMap((event) =>
    event.type === "part.tool-call" && event.data.providerExecuted !== true
      ? [{ toolName: event.data.toolName, input: event.data.input ?? {} }]
      : [],
  );
}
