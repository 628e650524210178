/** Law 7: the figures of the steps add up to those of the turns, of the session and of its summary. */

import type { TokenUsage } from "../../events/index.ts";
import { noUsage, ownSteps, spending, turnUsage } from "../../projections/index.ts";
import type { SessionState } from "../../state/index.ts";
import { nothing, type Check } from "./check.ts";

/** Only what every step tells: input, output, and whether all of it was measured. */
type Figures = Pick<TokenUsage, "basis" | "inputTokens" | "outputTokens">;

function plus(one: Figures, other: Figures): Figures {
  return {
    basis: one.basis === "measured" ? other.basis : one.basis,
    inputTokens: one.inputTokens + other.inputTokens,
    outputTokens: one.outputTokens + other.outputTokens,
  };
}

function told({ basis, inputTokens, outputTokens }: Figures): string {
  return `${inputTokens} in, ${outputTokens} out, ${basis}`;
}

function sum(figures: readonly Figures[]): string {
  return told(figures.reduce(plus, noUsage));
}

function differing(sums: Readonly<Record<string, string>>, logged: Figures): readonly string[] {
  return Object.entries(sums).flatMap(([where, figures]) =>
    figures === told(logged) ? [] : [`${where} says ${figures}; the log says ${told(logged)}`],
  );
}

export function figureCheck(): Check {
  let ofSteps: Figures = noUsage;
  /** What was spent beside the steps too: on attempts that were repeated, and on summaries. */
  let ofAll: Figures = noUsage;
  let steps = 0;
  /** What others had spent when the session branched off, and the last step that had begun by then. */
  let inherited: { readonly step: number; total: Figures } | undefined;
  let step = 0;
  return {
    rule: "figures",

    see(event) {
      switch (event.type) {
        case "session.forked":
          inherited = { step, total: plus(inherited?.total ?? noUsage, ofAll) };
          ofSteps = noUsage;
          ofAll = noUsage;
          return nothing;
        case "step.started":
          step = event.data.step;
          return nothing;
        case "step.finished":
        case "step.failed":
        case "step.interrupted":
          if (inherited !== undefined && event.data.step <= inherited.step) {
            inherited.total = plus(inherited.total, event.data.usage);
            steps += 1;
            return nothing;
          }
          ofSteps = plus(ofSteps, event.data.usage);
          ofAll = plus(ofAll, event.data.usage);
          steps += 1;
          return nothing;
        case "step.retrying":
        case "context.compacted":
        case "context.summary-rejected":
        case "context.compaction-rejected":
          if (event.data.usage !== undefined) ofAll = plus(ofAll, event.data.usage);
          return nothing;
        default:
          return nothing;
      }
    },

    end({ usage, summary }: SessionState) {
      const own = ownSteps(usage);
      const turns = [...new Set(own.map(({ turn }) => turn))];
      const wrong = [
        ...differing(
          {
            "the usage of the steps": told(usage.total),
            "each step": sum(own.map((one) => one.usage)),
            "each turn": sum(turns.map((turn) => turnUsage(usage, turn))),
          },
          ofSteps,
        ),
        ...differing(
          { "the spending": told(spending(usage).total), "the summary": told(summary.total) },
          ofAll,
        ),
        ...differing(
          {
            "the usage of the sessions before": told(usage.inherited?.total ?? noUsage),
            "the summary of the sessions before": told(summary.inherited?.total ?? noUsage),
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
