/**
 * Runs a plan over the tool results in the prompt. A plan is a generator that asks for calls and continues with
 * their outcomes. Every step runs it from its start: the model needs no memory.
 */
import type { Exchange, Outcome } from "./offline-prompt.ts";

/** A call, and the reasoning before it. */
interface Ask {
  readonly thought: string;
  readonly toolName: string;
  readonly input: Readonly<Record<string, unknown>>;
}

/** Yields calls, gets the outcome of each, and returns the answer. */
export type Plan = Generator<Ask, string, Outcome>;

export type Move =
  | ({ readonly kind: "ask" } & Ask)
  | { readonly kind: "answer"; readonly text: string };

/**
 * To the first call that lacks an outcome; each exchange is used once. A call of a tool that is not offered
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
    const ask = next.value;
    const exchange = take(unused, ask);
    if (exchange === undefined && offered.has(ask.toolName)) return { kind: "ask", ...ask };
    const message = `it takes ${ask.toolName}, a tool I am not offered.`;
    next = plan.next(exchange?.outcome ?? { kind: "failed", message });
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
