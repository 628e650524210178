/**
 * Runs a plan over the tool results in the prompt. A plan is a generator that asks for calls and continues with
 * their outcomes. Every step runs it from its start: the model needs no memory.
 */
import type { Exchange, Outcome } from "./offline-prompt.ts";

export interface Ask {
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Calls that may run concurrently, and the reasoning before them. */
interface Stage {
  readonly thought: string;
  readonly asks: readonly Ask[];
}

/** Yields stages, gets one outcome for each call of a stage, and returns the answer. */
export type Plan = Generator<Stage, string, readonly Outcome[]>;

export type Move =
  | { readonly kind: "ask"; readonly thought: string; readonly asks: readonly Ask[] }
  | { readonly kind: "answer"; readonly text: string };

/**
 * To the first stage that lacks an outcome; each exchange is used once. A call of a tool that is not offered
 * fails without being made.
 */
export function follow(
  plan: Plan,
  exchanges: readonly Exchange[],
  offered: ReadonlySet<string>,
): Move {
  const unused = [...exchanges];
  let next = plan.next();
  while (next.done !== true) {
    const { thought, asks } = next.value;
    const outcomes: Outcome[] = [];
    const missing: Ask[] = [];
    for (const ask of asks) {
      const exchange = take(unused, ask);
      if (exchange !== undefined) outcomes.push(exchange.outcome);
      else if (offered.has(ask.toolName)) missing.push(ask);
      else
        outcomes.push({
          kind: "failed",
          message: `it takes ${ask.toolName}, a tool I am not offered.`,
        });
    }
    if (missing.length > 0) return { kind: "ask", thought, asks: missing };
    next = plan.next(outcomes);
  }
  return { kind: "answer", text: next.value };
}

/**
 * Removes the exchange that answers a call. A tool's schema may add or drop fields of the input, so an exchange
 * without a contradiction is the second choice.
 */
function take(exchanges: Exchange[], ask: Ask): Exchange | undefined {
  const holdsAll = exchanges.findIndex((exchange) => compare(exchange, ask) === "holds all");
  const index =
    holdsAll === -1 ? exchanges.findIndex((it) => compare(it, ask) === "agrees") : holdsAll;
  return index === -1 ? undefined : exchanges.splice(index, 1)[0];
}

function compare({ toolName, input }: Exchange, ask: Ask): "holds all" | "agrees" | "differs" {
  if (toolName !== ask.toolName || typeof input !== "object" || input === null) return "differs";
  const given = new Map<string, unknown>(Object.entries(input));
  const asked = Object.entries(ask.input);
  const known = asked.filter(([key]) => given.has(key));
  if (known.some(([key, value]) => given.get(key) !== value)) return "differs";
  return known.length === asked.length ? "holds all" : "agrees";
}
