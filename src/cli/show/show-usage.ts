/** The tokens of a session, step by step. Pure. */

import type { SessionView, SubAgents } from "../../state/index.ts";
import { ownSteps } from "../../projections/index.ts";
import { amount, figure, tokens } from "../wording/wording.ts";
import { visibleName } from "../output/visible-text.ts";

export function usageValue(
  { session, position, usage }: SessionView,
  { subAgents, total }: SubAgents,
): object {
  return {
    session,
    position,
    ...usage,
    ...(subAgents.length === 0 ? {} : { subAgents, withSubAgents: total }),
  };
}

/** The sub-agents, each apart, those below indented; then all together. */
export function subAgentLines({ subAgents, total }: SubAgents): readonly string[] {
  if (subAgents.length === 0) return [];
  const linesOf = ({ subAgents: below }: Pick<SubAgents, "subAgents">): readonly string[] =>
    below.flatMap((one) => [
      `sub-agent ${visibleName(one.session)}  step ${one.step}  ${one.status}  ${tokens(one.own)}`,
      ...linesOf(one).map((line) => `  ${line}`),
    ]);
  return [...linesOf({ subAgents }), `with sub-agents: ${tokens(total)}`];
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
