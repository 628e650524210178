/** Matchers over recorded sessions for any extensible `expect` (vitest, jest). They import no test runner. */

import { isDeepStrictEqual } from "node:util";
import {
  compare,
  type CompareOptions,
  type CompareSource,
  type Comparison,
} from "../compare/index.ts";
import type { JsonValue, SessionEvent } from "../events/index.ts";
import { differenceText, replay, type ReplayedAgent, type ReplayOptions } from "../replay/index.ts";

/** A tool by name, or by name and input. */
export type ExpectedCall = string | readonly [toolName: string, input: JsonValue];

export interface MatcherAnswer {
  readonly pass: boolean;
  readonly message: () => string;
}

/** How many runs of a comparison may go otherwise, and the least mean of the candidate's scores. */
export interface ComparisonLimits {
  /** Default: 0. */
  readonly worse?: number;
  /** Default: 0. */
  readonly stopped?: number;
  /** Default: any number. */
  readonly different?: number;
  readonly scores?: Readonly<Record<string, { readonly least: number }>>;
}

/**
 * The matchers of `expect(events)`, and of `expect(log)`.
 * @example
 * import type { SessionMatchers } from "turnlog/testing";
 * declare module "vitest" {
 *   interface Matchers<R extends void | Promise<void>, T> extends SessionMatchers {}
 * }
 */
export interface SessionMatchers {
  /** The agent repeats the session exactly, event by event. Returns a promise. */
  toReplay(agent: ReplayedAgent, options?: ReplayOptions): Promise<void>;
  /** The candidate does as well on the sessions of a log or of files, within limits. Calls its model. Returns a promise. */
  toCompare(options: CompareOptions, limits?: ComparisonLimits): Promise<void>;
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
 * await expect([{ session: "talk", events }]).toCompare({ agent }, { different: 1 });
 * expect(events).toHaveCalledTools(["search", ["book", { city: "Ulm" }]]);
 */
export const sessionMatchers: {
  readonly toReplay: (
    events: readonly SessionEvent[],
    agent: ReplayedAgent,
    options?: ReplayOptions,
  ) => Promise<MatcherAnswer>;
  readonly toCompare: (
    source: CompareSource,
    options: CompareOptions,
    limits?: ComparisonLimits,
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

  async toCompare(source, options, limits = {}) {
    const comparison = await compare(source, options);
    const passed = limitsPassed(comparison, limits);
    return {
      pass: passed.length === 0,
      message: () =>
        passed.length === 0
          ? "The candidate keeps all limits, but should not."
          : [...passed, ...comparison.first.map(readingLine)].join("\n"),
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

/** A sentence for each limit that a comparison does not keep. */
function limitsPassed(
  { counts, scores: found }: Comparison,
  { worse = 0, stopped = 0, different = Infinity, scores = {} }: ComparisonLimits,
): readonly string[] {
  const most = { worse, stopped, different };
  return [
    ...(["worse", "stopped", "different"] as const).flatMap((verdict) =>
      counts[verdict] > most[verdict]
        ? [
            `${counts[verdict]} of ${counts.runs} runs ended ${verdict}: at most ${most[verdict]} may.`,
          ]
        : [],
    ),
    ...Object.entries(scores).flatMap(([name, { least }]) => {
      const mean = Object.hasOwn(found, name) ? found[name]?.candidate : undefined;
      if (mean === undefined) return [`No run has the score ${name}: name it in \`scores\`.`];
      return mean < least
        ? [`The mean of the score ${name} is ${mean}: it must be at least ${least}.`]
        : [];
    }),
  ];
}

function readingLine({ session, run, reason }: Comparison["first"][number]): string {
  return `  ${session}${run === 1 ? "" : `, run ${run}`}: ${reason}`;
}

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
