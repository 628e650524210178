import type { ConversationState } from "../../src/cli/chat/screen/conversation-state.ts";
import { initialMachineState } from "../../src/machines/index.ts";
import { history } from "../../src/projections/index.ts";

export const newConversation: ConversationState = {
  activity: "idle",
  queue: [],
  held: false,
  calls: [],
  budget: undefined,
  stopping: undefined,
  folds: { machine: initialMachineState, history: history.initial },
};
