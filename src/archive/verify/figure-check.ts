/** Law 7: the figures of the steps add up to those of the turns, of the session and of its summary. */

import type { TokenUsage } from "../../events/index.ts";
import { noUsage, ownSteps, spending, turnUsage } from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";
import { noFaults, type Check } from "./check.ts";

/** The figures that every step has. */
type Figures = Pick<TokenUsage, "basis" | "inputTokens" | "outputTokens">;

function plus(one: Figures, other: Figures): Figures {
  return {
    basis: one.basis === "measured" ? other.basis : one.basis,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}

function figuresText({ basis, inputTokens, outputTokens }: Figures): string {
  return `${inputTokens} in, ${outputTokens} out, ${basis}`;
}

function sum(figures: readonly Figures[]): string {
  return figuresText(figures.reduce(plus, noUsage));
}

function differing(sums: Readonly<Record<string, string>>, logged: Figures): readonly string[] {
  const expected = figuresText(logged);
  return Object.entries(sums).flatMap(([where, figures]) =>
    figures === expected ? [] : [`${where} says ${figures}; the log says ${expected}`],
  );
}

export function figureCheck(): Check {
  let ofSteps: Figures = noUsage;
  /** Also repeated attempts and summaries. */
  let ofAll: Figures = noUsage;
  let steps = 0;
  /** The spending of the origin of a fork, and the last step that it shares. */
  let inherited: { readonly step: number; total: Figures } | undefined;
  let step = 0;
  return {
    rule: "figures",

    onEvent(event) {
      switch (event.type) {
        case "session.forked":
          inherited = { step, total: plus(inherited?.total ?? noUsage, ofAll) };
          ofSteps = noUsage;
          ofAll = noUsage;
          return noFaults;
        case "step.started":
          step = event.data.step;
          return noFaults;
        case "step.finished":
        case "step.failed":
        case "step.interrupted":
          if (inherited !== undefined && event.data.step <= inherited.step) {
            inherited.total = plus(inherited.total, event.data.usage);
            steps += 1;
            return noFaults;
          }
          ofSteps = plus(ofSteps, event.data.usage);
          ofAll = plus(ofAll, event.data.usage);
          steps += 1;
          return noFaults;
        case "step.retrying":
        case "context.compacted":
        case "context.summary-rejected":
        case "context.compaction-rejected":
          if (event.data.usage !== undefined) ofAll = plus(ofAll, event.data.usage);
          return noFaults;
        default:
          return noFaults;
      }
    },

    onEnd({ usage, summary }: SessionState) {
      const own = ownSteps(usage);
      const turns = [...new Set(own.map(({ turn }) => turn))];
      const wrong = [
        ...differing(
          {
            "the usage of the steps": figuresText(usage.total),
            "each step": sum(own.map((one) => one.usage)),
            "each turn": sum(turns.map((turn) => turnUsage(usage, turn))),
          },
          ofSteps,
        ),
        ...differing(
          {
            "the spending": figuresText(spending(usage).total),
            "the summary": figuresText(summary.total),
          },
          ofAll,
        ),
        ...differing(
          {
            "the usage of the sessions before": figuresText(usage.inherited?.total ?? noUsage),
            "the summary of the sessions before": figuresText(summary.inherited?.total ?? noUsage),
          },
          inherited?.total ?? noUsage,
        ),
      ];
      return usage.steps.length === steps
        ? wrong
        : [...wrong, `the usage has ${usage.steps.length} steps, and ${steps} ended`];
    },
  };
}
