/** WebSocket: commands and events of one session, or the chats of a page, as frames. */

export { serveChatSocket, type Ask } from "./chat-socket.ts";
export { serverSocket, type ServerSocket } from "./server-socket.ts";
export { serveSocket, type SocketCall } from "./session-socket.ts";
