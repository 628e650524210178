/** The folder of the store without `--dir`, relative to the current folder. */

export const DEFAULT_DIR = ".turnlog";
