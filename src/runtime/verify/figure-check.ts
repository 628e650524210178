/** Law 7: the figures of the steps add up to those of the turns, of the session and of its summary. */

import type { TokenUsage } from "../../events/index.ts";
import { noUsage, turnUsage } from "../../projections/index.ts";
import type { SessionState } from "../session-state.ts";
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

export function figureCheck(): Check {
  let all: Figures = noUsage;
  let steps = 0;
  return {
    rule: "figures",

    see(event) {
      switch (event.type) {
        case "step.finished":
        case "step.failed":
        case "step.interrupted":
          all = plus(all, event.data.usage);
          steps += 1;
          return nothing;
        default:
          return nothing;
      }
    },

    end({ usage, summary }: SessionState) {
      const turns = [...new Set(usage.steps.map(({ turn }) => turn))];
      const sums = {
        "the usage": told(usage.total),
        "the summary": told(summary.total),
        "its steps": sum(usage.steps.map((step) => step.usage)),
        "its turns": sum(turns.map((turn) => turnUsage(usage, turn))),
      };
      const wrong = Object.entries(sums).flatMap(([where, figures]) =>
        figures === told(all)
          ? []
          : [`${where} says ${figures}; the steps of the log say ${told(all)}`],
      );
      return usage.steps.length === steps
        ? wrong
        : [...wrong, `the usage has ${usage.steps.length} steps, and ${steps} ended`];
    },
  };
}
