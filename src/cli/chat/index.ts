/** The chat: a conversation in a terminal, or one turn without a screen. */

export { agentParts, chatAgent } from "./chat-agent.ts";
export { type ChatRun, runChat } from "./chat-run.ts";
export { isAddress, isFile } from "./mentioned-files.ts";
export { chooseModel } from "./model-choice.ts";
export { loadModel } from "./model-loading.ts";
export { redrawn } from "./live-output.ts";
export { TurnScreen } from "./turn-screen.ts";
export { forkName, newSessionName } from "./session-name.ts";
