/** A WebSocket that was admitted, no matter which library upgrades and carries it: ws, Hono or Bun. */

import { textStart } from "../../events/index.ts";
import { setTimeout as wait } from "node:timers/promises";
import { onAbort } from "../../shared/index.ts";

/** The connection, as seen by the code that reads its frames. */
export interface Socket {
  /** Resolves when the frame has left, so that a slow client holds back its own frames. */
  readonly send: (text: string) => Promise<void>;
  readonly close: (code: number, reason: string) => void;
  /** Aborts when the connection is closed. */
  readonly closed: AbortSignal;
}

/** Handles a frame, and resolves when its whole answer has been sent. */
export type FrameReader = (text: string) => Promise<void>;

/** An open connection of a framework. */
interface SocketConnection {
  /** If it returns a promise, that promise is awaited. */
  readonly send: (text: string) => unknown;
  readonly close: (code: number, reason: string) => void;
  /**
   * Bytes that wait to be sent. Without this number, a client that does not read costs memory for all of its
   * events.
   */
  readonly buffered?: () => number;
}

/** The server's side of a WebSocket. Give it what happens on the connection. */
export interface ServerSocket {
  readonly open: (connection: SocketConnection) => void;
  /** A frame. Frames that are no text close the connection. */
  readonly message: (data: unknown) => void;
  readonly close: () => void;
}

interface ServedSocket {
  readonly read: (socket: Socket) => FrameReader;
  /** Called once, when the connection is closed. */
  readonly ended: () => void;
  /** Closes the connection; its reason is sent. */
  readonly closing: AbortSignal;
  /** Milliseconds after which a client that reads nothing is dropped. */
  readonly stallMs: number;
}

const MOST_BUFFERED = 65_536;
const LOOK_MS = 20;

export function serverSocket({ read, ended, closing, stallMs }: ServedSocket): ServerSocket {
  const closed = new AbortController();
  let connection: SocketConnection | undefined;
  let reader: FrameReader | undefined;
  let closes: Disposable | undefined;
  const end = (): void => {
    // A frame has room for 123 bytes.
    connection?.close(1001, textStart(String(closing.reason), 40));
  };
  const send = async (text: string): Promise<void> => {
    if (connection === undefined || closed.signal.aborted) return;
    await connection.send(text);
    // Counts checks instead of time, so that a server that gets no CPU does not mistake its own delay for the
    // client's.
    for (let waitedMs = 0; (connection.buffered?.() ?? 0) > MOST_BUFFERED; waitedMs += LOOK_MS) {
      if (closed.signal.aborted) return;
      if (waitedMs >= stallMs) return connection.close(1008, "The client stopped reading.");
      await wait(LOOK_MS);
    }
  };
  return {
    open: (opened) => {
      connection = opened;
      const close = (code: number, reason: string): void => opened.close(code, reason);
      reader = read({ send, close, closed: closed.signal });
      closes = onAbort(closing, end);
    },
    message: (data) => {
      if (typeof data === "string") void reader?.(data).catch(() => {});
      else connection?.close(1003, "Frames must be text.");
    },
    close: () => {
      if (closed.signal.aborted) return;
      closes?.[Symbol.dispose]();
      closed.abort();
      ended();
    },
  };
}
