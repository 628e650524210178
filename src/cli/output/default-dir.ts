/** Where the store is when --dir does not say: in the folder the user is in. */

export const DEFAULT_DIR = ".turnlog";
