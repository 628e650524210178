/** The commands about a running turn: `cancel`, and `allow` if a limit of spending holds it. Pure. */

import { z } from "zod";
import { defined, type CancelMode, type EventBody, type TurnEndReason } from "../events/index.ts";
import { heldBudget, type DescribedCall, type SessionState } from "../state/index.ts";
import { flag, oneOf, text, thing } from "../validation/index.ts";
import { runtimeCommand, type Command } from "./command.ts";
import { by, options, requiredOptions } from "./parameters.ts";
import { refusal, type CommandTarget } from "./target.ts";

export const cancellation: Command = runtimeCommand({
  name: "cancel",
  parameters: [
    options<CancelOptions>({
      fields: { mode: oneOf("now", "after-tools"), reason: text, withdraw: flag, by },
    }),
  ],
  permission: "cancel",
  route: {
    method: "post",
    path: "/cancel",
    audience: "user",
    summary: "Cancels the running turn, and says what is kept of it.",
  },
  answer: { kind: "json", schema: z.lazy(() => z.looseObject({ was: z.string() })) },
  recorded: (event, next) => {
    if (event.type === "turn.cancel-requested") {
      const { mode, reason, by: who } = event.data;
      return () => [defined({ mode, reason, by: who })];
    }
    if (event.type !== "message.withdrawn" || event.data.ids.length === 1) return undefined;
    // A cancel withdraws several messages at once, and records nothing else for a turn that was stopping.
    const mode = next?.type === "turn.cancel-requested" ? next.data.mode : "after-tools";
    const { reason, by: who } = event.data;
    return () => [{ ...defined({ mode, reason, by: who }), withdraw: true }];
  },
});

const more = thing<number>(
  "a number greater than 0",
  (value) => typeof value === "number" && Number.isFinite(value) && value > 0,
);

export const allowance: Command = runtimeCommand({
  name: "allow",
  parameters: [
    requiredOptions<Allowance>({ name: "more", fields: { tokens: more, dollars: more, by } }),
  ],
  permission: "approve",
  route: {
    method: "post",
    path: "/allow",
    summary: "Continues a turn that a limit of spending holds, with so much more than the limit.",
  },
  answer: { kind: "nothing" },
  recorded: (event) => {
    if (event.type !== "turn.allowed") return undefined;
    const { tokens, dollars, by: who } = event.data;
    return () => [defined({ tokens, dollars, by: who })];
  },
});

/** How much more a turn may spend, in the unit of the limit that holds it. */
export interface Allowance {
  /** Tokens on top of a limit of tokens. */
  readonly tokens?: number;
  /** Dollars on top of a limit of dollars. */
  readonly dollars?: number;
  /** The name of the person who allows it: recorded with it. */
  readonly by?: string;
}

/** @throws TurnlogError `COMMAND_REFUSED` */
export function allow(target: CommandTarget, given: Allowance): EventBody<"turn.allowed"> {
  const budget = heldBudget(target.state);
  if (budget === undefined)
    throw refusal(target, "allow more", "no limit of spending holds its turn");
  const { unit } = budget;
  if (given[unit] === undefined)
    throw refusal(target, "allow more", `its turn waits at a limit of ${unit}: name \`${unit}\``);
  const { turn } = target.state.machine.context;
  return { type: "turn.allowed", data: { turn, ...defined({ ...given }) } };
}

export interface CancelOptions {
  /**
   * `now` (default) stops the running model call and tools. `after-tools` lets the step and its tools
   * finish; calls that wait for approval are skipped.
   */
  readonly mode?: CancelMode;
  /** Why, for the log. */
  readonly reason?: string;
  /** Withdraw the waiting messages too. Default: false. */
  readonly withdraw?: boolean;
  /** The name of the person who cancels, for the log. */
  readonly by?: string;
}

/** What the session was doing when its turn was cancelled, and what is kept of the turn. */
export interface Cancelled {
  readonly was: "idle" | "streaming" | "tools" | "compacting";
  readonly turn: number | undefined;
  /** How the turn ended: `cancelled`, or another reason if it ended before the cancel. */
  readonly ended: TurnEndReason | undefined;
  readonly kept: {
    /** The text of the turn's last step. */
    readonly text: string;
    readonly calls: readonly Pick<
      DescribedCall,
      "callId" | "toolName" | "status" | "input" | "reason"
    >[];
  };
  /** Ids of the messages that were withdrawn. */
  readonly withdrawn: readonly string[];
}

export interface Cancellation {
  readonly events: readonly EventBody[];
  /** `turn` is undefined between turns. */
  readonly cancelled: Pick<Cancelled, "was" | "turn" | "withdrawn">;
}

export function cancel(
  { machine, queue }: SessionState,
  { mode = "now", reason, withdraw = false, by }: CancelOptions,
): Cancellation {
  const { turn, stopping, skipCalls, compactingFrom } = machine.context;
  const about = defined({ reason, by });
  const waiting = withdraw && !machine.matches("closed") ? queue.waiting : [];
  const withdrawn = waiting.map((message) => message.id);
  const events: EventBody[] = [];
  if (withdrawn.length > 0) {
    events.push({ type: "message.withdrawn", data: { ids: withdrawn, ...about } });
  }
  const was = activityOf(machine);
  // A second request with `now` hurries a turn that was to stop after its tools.
  if (was !== "idle" && (stopping === undefined || (mode === "now" && !skipCalls))) {
    events.push({ type: "turn.cancel-requested", data: { turn, mode, ...about } });
  }
  const isBetweenTurns = was === "idle" || (was === "compacting" && compactingFrom === "idle");
  return { events, cancelled: { was, turn: isBetweenTurns ? undefined : turn, withdrawn } };
}

function activityOf(machine: SessionState["machine"]): Cancelled["was"] {
  if (machine.matches("idle") || machine.matches("closed")) return "idle";
  if (machine.matches("tools")) return "tools";
  return machine.matches("compacting") ? "compacting" : "streaming";
}
