/** Messages to a session as one stream of named events, and its queue, for programs without the AI SDK. */

export { messageRoutes } from "./message-routes.ts";
