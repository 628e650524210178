/** The chat protocol of the AI SDK: `useChat` posts messages and reads the stream of a reply. */

export { chatRoutes } from "./chat-routes.ts";
