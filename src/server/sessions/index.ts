/** The routes of sessions: lists, views, commands, queue, events, approvals, blobs, export and import. */

export { approvalRoutes } from "./approval-routes.ts";
export { blobRoutes } from "./blob-routes.ts";
export { commandRoutes } from "./command-routes.ts";
export { messageInput, postedParts, seen, type PostedPart, type Seen } from "./posted-message.ts";
export { queueRoutes } from "./queue-routes.ts";
export { sessionRoutes } from "./session-routes.ts";
export { transferRoutes } from "./transfer-routes.ts";
export { eventRoutes } from "./event-routes.ts";
