/** Law 11: the prompt of every step that was begun is made again from the log, and has the digest that the log says. */

import { isPromptThinned, promptDigest, promptMessages } from "../../projections/index.ts";
import { nothing, type Check } from "./check.ts";

/** @param onLost - Told of a prompt that had reasoning in it which was taken out of the log since. */
export function promptCheck(onLost: () => void): Check {
  return {
    rule: "prompts",
    see(event, { history, view, summary }) {
      if (event.type !== "step.started") return nothing;
      const { step, promptDigest: sent } = event.data;
      const rebuilt = promptDigest(summary.agentDigest ?? "", promptMessages(history, view));
      if (rebuilt === sent) return nothing;
      if (isPromptThinned(history, view)) {
        onLost();
        return nothing;
      }
      return [`the prompt of step ${step} cannot be rebuilt: ${rebuilt} instead of ${sent}`];
    },
    end: () => nothing,
  };
}
