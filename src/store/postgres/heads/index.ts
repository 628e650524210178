/** What this process knows of the sessions in use, and how it reads that from the database. */

export type { Head, StoredSession } from "./head.ts";
export { Heads } from "./heads.ts";
export { linkOf, storedSessions, unknownSession } from "./stored-sessions.ts";
