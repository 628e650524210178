/**
 * The owner's socket as a file in its folder. It is made under another name and moved to its place:
 * when a server is closed, libuv deletes the name under which it was made, whoever has that by then.
 */

import { chmodSync, renameSync, rmSync, statSync } from "node:fs";
import type { Server } from "node:net";
import { dirname, join } from "node:path";
import type { Greeting } from "./greeting.ts";
import { askAt, listenAt, type Answer } from "./owner-socket.ts";
import { withSocketPath } from "./socket-address.ts";

export interface PublishedSocket {
  /** False once another socket is in its place. A file that was deleted is nobody's. */
  isInPlace(): boolean;
  release(): void;
}

/** Who answers at a socket's file. @throws the system's error where that cannot be told */
export async function askSocket(path: string): Promise<Answer> {
  if (inodeOf(path) === undefined) return { kind: "none" };
  return await withSocketPath(path, askAt);
}

/**
 * Puts a socket in its place, also over that of a dead owner, and connects to it to see whether it
 * is there to stay.
 * @returns What answers there instead, if this socket does not.
 * @throws the system's error, `ENOTSUP` and the like on a file system without sockets
 */
export async function publishSocket(
  path: string,
  greeting: Greeting,
): Promise<PublishedSocket | Answer> {
  const draft = join(dirname(path), draftName(greeting.nonce));
  const server = await withSocketPath(draft, (short) => listenAt(short, greeting));
  const socket = socketAt(path, draft, server);
  try {
    chmodSync(draft, 0o600);
    renameSync(draft, path);
    const answer = await askSocket(path);
    if (answer.kind === "alive" && answer.greeting?.nonce === greeting.nonce) return socket;
    socket.release();
    return answer;
  } catch (error) {
    socket.release();
    throw error;
  }
}

function socketAt(path: string, draft: string, server: Server): PublishedSocket {
  const own = inodeOf(draft);
  return {
    isInPlace: () => {
      const there = inodeOf(path);
      return there === undefined || there === own;
    },
    release: () => {
      if (own !== undefined && inodeOf(path) === own) rmSync(path, { force: true });
      server.close();
    },
  };
}

function draftName(nonce: string): string {
  return `owner-${nonce.slice(0, 8)}.sock`;
}

/** Whether a name is that of a socket that was not put in its place. */
export function isSocketDraft(name: string): boolean {
  return /^owner-[0-9a-f]{8}\.sock$/.test(name);
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
