/** A client of turnlog's server, and the transport of `useChat`. Types of the runtime only: nothing of it is loaded. */

export { chatTransport } from "./chat-transport.ts";
export { createClient, type Client } from "./client.ts";
export { problemError } from "./http.ts";
export type { MessagePart } from "../media/index.ts";
export type { SessionClient } from "./session-client.ts";
