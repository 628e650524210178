/** The commands of the command line. Each has a file that is loaded when it is called. */

export { addChatCommands } from "./chat-commands.ts";
export { addExamples } from "./command-examples.ts";
export { addKeepCommands } from "./keep-commands.ts";
export { addLookCommands } from "./look-commands.ts";
export { chooseStore } from "./store-options.ts";
export { addCompletionCommand, addHelpCommand, refuseMistyped } from "./shell-commands.ts";
