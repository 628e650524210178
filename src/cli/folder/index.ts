/** The tools of the chat's agent: they list, search, read and write files of one folder. */

export { folderTools } from "./folder-tools.ts";
