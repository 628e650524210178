/**
 * A client of a turnlog server for browsers, Node and Bun, and a transport for the AI SDK's `useChat`.
 * Without dependencies.
 *
 * @example
 * import { chatTransport, createClient } from "turnlog/client";
 *
 * const client = createClient({ baseUrl: "https://chat.example.com", token });
 * for await (const event of client.session("s-1").events()) console.log(event.type);
 */

export { chatTransport, createClient, type Client, type SessionClient } from "../client/index.ts";
