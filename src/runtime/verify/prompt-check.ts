/** Law 11: the prompt of every step that was begun is made again from the log, and has the digest that the log says. */

import { promptDigest, promptMessages } from "../../projections/index.ts";
import { nothing, type Check } from "./check.ts";

export function promptCheck(): Check {
  return {
    rule: "prompts",
    see(event, { history, view, summary }) {
      if (event.type !== "step.started") return nothing;
      const { step, promptDigest: sent } = event.data;
      const rebuilt = promptDigest(summary.agentDigest ?? "", promptMessages(history, view));
      return rebuilt === sent
        ? nothing
        : [`the prompt of step ${step} cannot be rebuilt: ${rebuilt} instead of ${sent}`];
    },
    end: () => nothing,
  };
}
