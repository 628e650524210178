/** The commands of the command line, one file each. */

export { addChatCommands } from "./chat-commands.ts";
export { addKeepCommands } from "./keep-commands.ts";
export { addLookCommands } from "./look-commands.ts";
export { addHelpCommand, refuseMistyped } from "./mistyped-command.ts";
