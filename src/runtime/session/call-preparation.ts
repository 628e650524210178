/** Prepares a turn as the agent's `prepareCall` says: its agent, its messages and its context. */

import {
  awaited,
  preparedCall,
  prepareAgent,
  turnOverrides,
  type PreparedAgent,
} from "../../agent/index.ts";
import type { EventMap, StepOverrides } from "../../events/index.ts";
import { plainEntries, promptMessages } from "../../projections/index.ts";
import { toJson } from "../../shared/index.ts";
import type { SessionState } from "../../state/index.ts";
import { offloadedChange, returnedMessages } from "./returned-messages.ts";
import type { Preparation, PreparationOptions } from "./step-preparation.ts";

/** A prepared turn. `overrides` are recorded with each of its steps. */
export interface TurnPreparation extends Preparation {
  /** Its next step, which its event is about. */
  readonly step: number;
  readonly overrides: StepOverrides | undefined;
}

/** @throws TurnlogError `CALLBACK_FAILED` */
export async function prepareTurn(
  state: SessionState,
  prepared: PreparedAgent,
  { session, turn, blobs }: Pick<PreparationOptions, "session" | "turn" | "blobs">,
): Promise<TurnPreparation> {
  const { history, view, machine } = state;
  const messages = promptMessages(history, view);
  const call = { options: await turn.options(), messages, context: await turn.context() };
  const { agent, messages: returned, context } = await preparedCall(prepared.agent, call);
  const made = await prepareAgent(agent);
  const overrides = turnOverrides(prepared.agent, agent);
  // After a restart in the middle of a turn, the log has its messages and instructions.
  const isFirst = machine.context.stepsInTurn === 0;
  const own = new Set([...messages, ...plainEntries(history, view).map(({ message }) => message)]);
  const change = await awaited("prepareCall", async () =>
    returned === undefined || !isFirst
      ? undefined
      : await returnedMessages(session, state, returned, own),
  );
  const offloaded = change && (await offloadedChange(change, blobs));
  const instructions = toJson(agent.instructions ?? "");
  const isNew = JSON.stringify(instructions) !== JSON.stringify(prepared.agent.instructions ?? "");
  const { digest } = made.description;
  const data: EventMap["step.prepared"] = {
    turn: machine.context.turn,
    step: machine.context.step + 1,
    ...(offloaded === undefined ? {} : { messages: offloaded.content }),
    ...(isNew && isFirst ? { instructions } : {}),
    ...(overrides === undefined ? {} : { overrides }),
    ...(digest === prepared.description.digest ? {} : { agentDigest: digest }),
  };
  const isChanged = Object.keys(data).length > 2;
  return {
    prepared: made,
    step: data.step,
    overrides,
    events: isChanged ? [...(offloaded?.stored ?? []), { type: "step.prepared", data }] : [],
    apply: () => {
      offloaded?.[Symbol.dispose]();
      turn.change({ ...call.context, ...context });
    },
  };
}
