/** Work on whole sessions: lists, snapshots, deletion. */

export { deleteSession } from "./deletion.ts";
export { deletedSessions, listSessions } from "./session-list.ts";
export { loadSnapshot, saveSnapshot } from "./snapshots.ts";
