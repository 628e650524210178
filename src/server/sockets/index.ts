/** WebSocket: commands and events of one session as frames. */

export { serveSocket, type SocketCall } from "./session-socket.ts";
