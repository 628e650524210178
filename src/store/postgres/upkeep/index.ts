/** Work on whole sessions: lists, snapshots, deletion. */

export { postgresCursors } from "./cursors.ts";
export { deleteSession } from "./deletion.ts";
export { deletedSessions, listSessions } from "./session-list.ts";
export { loadSnapshot, loadSnapshots, saveSnapshot } from "./snapshots.ts";
