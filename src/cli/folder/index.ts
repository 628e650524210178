/** The offline agent's tools: they list, search, read and write files of one folder. */

export { folderTools } from "./folder-tools.ts";
