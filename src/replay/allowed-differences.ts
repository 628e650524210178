/**
 * Named differences that a replay may allow, so that a test survives an edited prompt and still checks
 * calls, their order, results and ends. Each prompt is compared under the recorded agent. Pure.
 */

import { isDeepStrictEqual } from "node:util";
import { z } from "zod";
import { TurnlogError, type AgentDescription, type SessionEvent } from "../events/index.ts";
import { nextDigest } from "../projections/index.ts";
import { foldSession, initialSessionState } from "../state/index.ts";
import { agentOf } from "./agent-difference.ts";

const names = ["instructions", "tool-descriptions"] as const;

/**
 * `instructions`: the instructions of the agent. `tool-descriptions`: descriptions and input schemas of
 * its tools; a schema that refuses a recorded input is still a difference.
 */
export type AllowedDifference = (typeof names)[number];

/** @throws TurnlogError `INVALID_INPUT` for an unknown name */
export function parseAllowed(given: unknown): readonly AllowedDifference[] {
  const parsed = z.array(z.enum(names)).safeParse(given);
  if (parsed.success) return parsed.data;
  throw new TurnlogError(
    "INVALID_INPUT",
    `A replay cannot allow ${JSON.stringify(given)}: \`allow\` is a list of ${names.map((name) => `"${name}"`).join(" and ")}. Everything else is behaviour, which a replay checks.`,
    { cause: parsed.error },
  );
}

export class AllowedDifferences {
  readonly #allowed: ReadonlySet<AllowedDifference>;
  #state = initialSessionState;
  /** The digest of the recorded agent. */
  #agent = "";

  constructor(allowed: readonly AllowedDifference[]) {
    this.#allowed = new Set(allowed);
  }

  without(made: SessionEvent, recorded: SessionEvent | undefined): SessionEvent {
    if (this.#allowed.size === 0) return made;
    switch (made.type) {
      case "session.created":
      case "session.configured": {
        if (recorded?.type !== made.type) return made;
        const { agent } = recorded.data;
        return this.#isAllowed(agent, made.data.agent) ? { ...made, data: { agent } } : made;
      }
      case "step.started": {
        const digest = nextDigest(this.#state, { agentDigest: this.#agent });
        return { ...made, data: { ...made.data, promptDigest: digest } };
      }
      default:
        return made;
    }
  }

  happened(event: SessionEvent): void {
    if (this.#allowed.size === 0) return;
    this.#agent = agentOf(event)?.digest ?? this.#agent;
    this.#state = foldSession(this.#state, event).state;
  }

  #isAllowed(recorded: AgentDescription, made: AgentDescription): boolean {
    const may = (name: AllowedDifference): boolean => this.#allowed.has(name);
    const [one, other] = [recorded.parts, made.parts];
    if (!isDeepStrictEqual(recorded.model, made.model)) return false;
    if (!isDeepStrictEqual(recorded.tools, made.tools)) return false;
    if (!isDeepStrictEqual(recorded.parts?.toolChoice, made.parts?.toolChoice)) return false;
    // A single digest does not show which part differs.
    if (one === undefined || other === undefined) return names.every(may);
    return (
      (may("instructions") || one.instructions === other.instructions) &&
      (may("tool-descriptions") || isDeepStrictEqual(one.tools, other.tools))
    );
  }
}
