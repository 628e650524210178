/** Writes the rows of a store into a new database: the common part of a backup and of a repair. */

export { StoreCopy, type Damage } from "./store-copy.ts";
