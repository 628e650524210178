/** Folders of a store: private modes, durable names, and paths inside a folder. */

export {
  PRIVATE_FILE,
  PRIVATE_FOLDER,
  keepFilesPrivate,
  keepPrivate,
  makePrivateFolder,
  syncAbove,
  syncFolder,
  isWithin,
} from "./folder.ts";
