/**
 * Follows a plan against the tool results that the prompt already holds. A plan is a generator that
 * asks for tool calls and goes on with their outcomes; it is run from its start on every step, so
 * the model needs no memory of its own: what it does next is a function of the prompt.
 */
import type { Exchange, Outcome } from "./offline-prompt.ts";

/** A tool call that a plan wants. */
export interface Ask {
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Calls that may run side by side, and why they are wanted. */
interface Stage {
  readonly thought: string;
  readonly asks: readonly Ask[];
}

/** Yields stages, is given one outcome for each of a stage's asks, returns what it has to say. */
export type Plan = Generator<Stage, string, readonly Outcome[]>;

/** What the model does in this step. */
export type Move =
  | { readonly kind: "ask"; readonly thought: string; readonly asks: readonly Ask[] }
  | { readonly kind: "answer"; readonly text: string };

/**
 * Runs the plan over the exchanges, each used once, up to the first stage that lacks an outcome.
 * A call of a tool that is not offered fails without being made.
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
 * Takes out the exchange that answers an ask. A tool's schema may have added defaults to the input,
 * or dropped what it does not know: an exchange that at least contradicts nothing is the second choice.
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
