/**
 * The owner's socket as a file. It is created under another name and renamed: a closing server makes
 * libuv delete the name of its creation, even if another process has it by then.
 */

import { chmodSync, renameSync, rmSync, statSync } from "node:fs";
import type { Server } from "node:net";
import { dirname, join } from "node:path";
import { type Greeting, askAt, listenAt, type Answer, type StoreService } from "./owner-socket.ts";
import { withSocketPath } from "./socket-address.ts";

export interface PublishedSocket {
  /** False once another socket has replaced it. If the file was deleted, the owner keeps the store. */
  isInPlace(): boolean;
  release(): void;
}

/** How often the own socket is asked again after it sent no greeting in time. */
const ASK_AGAIN = 10;

function isSilent(answer: Answer): boolean {
  return answer.kind === "alive" && answer.greeting === undefined;
}

/** Connects to a socket's file. @throws the system's error when the result is unclear */
export async function askSocket(path: string): Promise<Answer> {
  if (inodeOf(path) === undefined) return { kind: "none" };
  return await withSocketPath(path, askAt);
}

/**
 * Replaces a dead owner's socket, and connects to it as a check.
 * @returns The answer of another socket, if this one does not answer.
 * @throws the system's error, `ENOTSUP` and the like on a file system without sockets
 */
export async function publishSocket(
  path: string,
  greeting: Greeting,
  service?: StoreService,
): Promise<PublishedSocket | Answer> {
  const draft = join(dirname(path), draftName(greeting.nonce));
  const server = await withSocketPath(draft, (short) => listenAt(short, greeting, service));
  const socket = socketAt(path, draft, server);
  try {
    chmodSync(draft, 0o600);
    renameSync(draft, path);
    let answer = await askSocket(path);
    // The own socket answers late where this process got no time meanwhile.
    for (let more = ASK_AGAIN; more > 0 && isSilent(answer) && socket.isInPlace(); more--)
      answer = await askSocket(path);
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

export function isSocketDraft(name: string): boolean {
  return /^owner-[0-9a-f]{8}\.sock$/.test(name);
}

function inodeOf(path: string): bigint | undefined {
  return statSync(path, { bigint: true, throwIfNoEntry: false })?.ino;
}
