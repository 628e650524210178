/** The chat's agent as a session has it, for a replay: the model is named as it was and never called. */

import type { AgentDescription, SessionEvent } from "../../events/index.ts";
import { offlineModel } from "../../models/index.ts";
import type { Agent } from "../../agent/index.ts";
import { chatAgent, type ChatAgentOptions } from "./chat-agent.ts";

export function recordedChatAgent(
  events: readonly SessionEvent[],
  around: Pick<ChatAgentOptions, "folder" | "store" | "instructions" | "compaction">,
): (recorded: AgentDescription) => Agent {
  // Whether it could ask is not told; whether it has asked is.
  const canAsk = events.some(({ type }) => type === "tool.approval-requested");
  return ({ model, tools }) =>
    chatAgent({
      ...around,
      model: { ...offlineModel(), ...model },
      allowWrite: tools.includes("write_file"),
      canAsk,
    });
}
