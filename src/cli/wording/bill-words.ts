/** The bill of a session in sentences, for `turnlog bill` and `/cost`. Pure. */

import type { SessionBill } from "../../bill/index.ts";
import { visibleName } from "../output/visible-text.ts";
import { amount, figure, linesOf, tokens } from "./wording.ts";

type Part = SessionBill["parts"][number];
type Name = NonNullable<SessionBill["misses"][number]["first"]>;
type Miss = SessionBill["misses"][number];
type Cost = SessionBill["cost"]["total"];

/** `$0.0123`, with `~` for estimates and the number of calls that have no known price. */
export function dollars({ dollars: sum, basis, unpriced }: Cost): string {
  const about = basis === "estimated" ? "~" : "";
  const missing = unpriced === 0 ? "" : ` and ${amount(unpriced, "call")} without a known price`;
  return `${about}${money(sum)}${missing}`;
}

export function money(sum: number): string {
  return `$${sum.toFixed(4)}`;
}

const kinds: Readonly<Record<string, string>> = {
  standing: "instructions and tools",
  message: "message",
  media: "media of a message",
  reply: "reply",
  summary: "summary",
  other: "note",
  summarizing: "prompt of a call for a summary",
};

/** `result of read_file, step 3, at 41`. A kind of a later release is named as it is. */
export function partName({ kind, position, step, toolName }: Name): string {
  const tool = toolName === undefined ? "" : visibleName(toolName);
  const named =
    kind === "result"
      ? `result of ${tool}`
      : toolName === undefined
        ? (kinds[kind] ?? kind)
        : `${kind} ${tool}`;
  return `${named}${step === undefined ? "" : `, step ${step}`}, at ${position}`;
}

/** The dearest parts, each with what it cost over all calls that carried it. */
export function partLines(parts: readonly Part[], most: number): readonly string[] {
  return parts
    .slice(0, most)
    .map(
      (part) =>
        `  ${money(part.dollars)}  ${partName(part)}: ${figure(part.tokens)} tokens in ${amount(part.calls, "call")}`,
    );
}

const causes: Readonly<Record<Miss["cause"], string>> = {
  tools: "the tools changed",
  instructions: "the instructions changed",
  settings: "the settings changed",
  model: "another model was asked",
  edit: "the conversation was edited",
  pruning: "old results were left out",
  compaction: "a summary took the place of messages",
  cut: "a long result was cut",
  reasoning: "the reasoning of an ended turn is not sent again",
  expired: "the cache had expired",
  unexplained: "the provider read less than its rules say",
};

export function missLines(misses: readonly Miss[]): readonly string[] {
  return misses.map(({ position, cause, changedAt, first, tokens: missed, dollars: more }) => {
    const where = changedAt === position ? "" : ` at ${changedAt}`;
    const part = first === undefined ? "" : `; first differs the ${partName(first)}`;
    const price = more === undefined ? "" : `, ${money(more)} more`;
    return `  call at ${position}: ${causes[cause]}${where}${part}: ${figure(missed)} tokens not read${price}`;
  });
}

/** The sums of a session by purpose. */
export function costLines(
  { cost, calls }: Pick<SessionBill, "cost" | "calls">,
  usages: Readonly<
    Record<"steps" | "retries" | "compactions" | "total", Parameters<typeof tokens>[0]>
  >,
): readonly string[] {
  const part = (name: string, of: keyof typeof usages): string =>
    `  ${name.padEnd(12)} ${tokens(usages[of])} · ${dollars(cost[of])}`;
  return linesOf(
    part("replies", "steps"),
    usages.retries.inputTokens > 0 && part("retries", "retries"),
    usages.compactions.inputTokens > 0 && part("compactions", "compactions"),
    part("together", "total"),
    cost.inherited &&
      `  ${"inherited".padEnd(12)} ${dollars(cost.inherited)}, paid by the session that it branched off`,
    calls.length === 0 && "  no model was called",
  );
}
