/** The tokens of a session, step by step. Pure. */

import type { SessionView } from "../../state/index.ts";
import { ownSteps } from "../../projections/index.ts";
import { amount, figure, tokens } from "../wording/index.ts";
import { visibleName } from "../output/index.ts";

export function usageValue({ session, position, usage }: SessionView): object {
  return { session, position, ...usage };
}

export function usageLines({ usage }: SessionView): readonly string[] {
  const { steps, running, total, inherited } = usage;
  const own = ownSteps(usage);
  return [
    ...steps.map(
      ({ turn, step, model, usage: spent }) =>
        `turn ${turn}  step ${step}  ${tokens(spent)}  ${visibleName(`${model.provider}:${model.modelId}`)}`,
    ),
    ...(running === undefined
      ? []
      : [
          `turn ${running.turn}  step ${running.step}  running, ~${figure(running.estimate.tokens)} in`,
        ]),
    `${amount(own.length, "step")}: ${tokens(total)}`,
    ...(inherited === undefined
      ? []
      : [
          `before it branched off, ${amount(steps.length - own.length, "step")}: ${tokens(inherited.total)}`,
        ]),
    ...(total.basis === "estimated"
      ? ["~ is estimated: of at least one step no provider told what it cost"]
      : []),
  ];
}
