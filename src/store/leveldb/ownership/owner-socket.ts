/**
 * A listening socket that names the owner of a store, and hands its connections to the server of the store.
 * It ends with its process only, and keeps no process alive.
 */

import { z } from "zod";
import { addAbortListener } from "node:events";
import { createServer, connect, type Server, type Socket } from "node:net";
import {
  mkdtempSync,
  rmdirSync,
  statSync,
  symlinkSync,
  unlinkSync,
  chmodSync,
  renameSync,
  rmSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { hasCode } from "../../../events/index.ts";

/** Later versions only add fields. What follows the greeting may change with the version. */
const PROTOCOL = "turnlog/1";

export interface Greeting {
  readonly protocol: string;
  readonly pid: number;
  readonly host: string;
  readonly boot: string;
  /** ISO 8601. */
  readonly startedAt: string;
  /** Unique for each opening. */
  readonly nonce: string;
  /** The version of the protocol that is spoken after the greeting. Absent: the connection ends with it. */
  readonly serves?: string | undefined;
  /** Whether the owner is about to leave the store or to serve it: it reads, opens or closes the store. */
  readonly isPassing?: boolean | undefined;
}

/** The version of the protocol after the greeting: the server's HTTP, and the routes of `src/server/store`. */
const STORE_PROTOCOL = "1";

/** Serves a store to other processes. Without `accept`, its socket only says who the owner is. */
export interface StoreService {
  /** Called with a connection after its greeting, which names the protocol. */
  accept?: ((socket: Socket) => void) | undefined;
  /** As in {@link Greeting}, while there is no `accept`. */
  isPassing?: boolean;
}

const greetingSchema: z.ZodType<Greeting> = z.object({
  protocol: z.string().startsWith("turnlog/"),
  pid: z.int().positive(),
  host: z.string(),
  boot: z.string(),
  startedAt: z.string(),
  nonce: z.string(),
  serves: z.string().optional(),
  isPassing: z.boolean().optional(),
});

export function greetingOf(owner: Omit<Greeting, "protocol">): Greeting {
  const { pid, host, boot, startedAt, nonce } = owner;
  return { protocol: PROTOCOL, pid, host, boot, startedAt, nonce };
}

/** `none`: there is no socket. `refused`: no process of this kernel listens on it. */
export type Answer =
  | { readonly kind: "none" | "refused" }
  /** Without a greeting if the owner is too busy to send one. */
  | { readonly kind: "alive"; readonly greeting: Greeting | undefined };

/** Milliseconds to wait for a greeting. An owner without one still counts as alive. */
const PATIENCE = 1000;
const LONGEST_GREETING = 4096;

/** @throws the system's error, `EADDRINUSE` where somebody listens already */
export async function listenAt(
  address: string,
  greeting: Greeting,
  service: StoreService = {},
): Promise<Server> {
  const server = createServer((socket) => {
    // The reader may have gone.
    socket.on("error", () => {});
    socket.unref();
    const { accept, isPassing = false } = service;
    if (accept === undefined)
      return void socket.end(lineOf(isPassing ? { ...greeting, isPassing } : greeting));
    socket.write(lineOf({ ...greeting, serves: STORE_PROTOCOL }));
    accept(socket);
  });
  server.unref();
  await new Promise<void>((resolve, reject) => {
    server.once("error", reject);
    // `exclusive`: workers of `cluster` would share one socket, and each would believe to own the
    // store.
    server.listen({ path: address, exclusive: true }, () => {
      server.off("error", reject);
      resolve();
    });
  });
  return server;
}

function lineOf(greeting: Greeting): string {
  return `${JSON.stringify(greeting)}\n`;
}

/** @throws the system's error when it does not show whether somebody listens */
export async function askAt(address: string): Promise<Answer> {
  const socket = connect(address);
  try {
    return { kind: "alive", greeting: await greetingOn(socket, AbortSignal.timeout(PATIENCE)) };
  } catch (error) {
    if (hasCode(error, "EAGAIN", "ECONNRESET", "EPIPE"))
      return { kind: "alive", greeting: undefined };
    if (hasCode(error, "ENOENT")) return { kind: "none" };
    if (hasCode(error, "ECONNREFUSED")) return { kind: "refused" };
    throw error;
  } finally {
    socket.destroy();
  }
}

/**
 * The greeting of whoever listens; undefined if none has come when the connection ends or the signal aborts. The socket
 * has nothing else on it until the first request.
 * @throws the system's error if nobody was reached
 */
export async function greetingOn(
  socket: Socket,
  signal: AbortSignal,
): Promise<Greeting | undefined> {
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  let [text, isReached] = ["", false];
  const reach = (): void => void (isReached = true);
  const read = (bytes: Buffer): void => {
    text += bytes.toString("utf8");
    if (text.includes("\n") || text.length > LONGEST_GREETING) resolve();
  };
  const end = (): void => resolve();
  const fail = (error: Error): void => (isReached ? resolve() : reject(error));
  socket.once("connect", reach).on("data", read).on("close", end).on("error", fail);
  using _ = addAbortListener(signal, end);
  await promise;
  socket.off("data", read).off("close", end).off("error", fail);
  return readGreeting(text.split("\n", 1)[0] ?? "");
}

function readGreeting(line: string): Greeting | undefined {
  try {
    return greetingSchema.safeParse(JSON.parse(line), { jitless: true }).data;
  } catch (error) {
    if (error instanceof SyntaxError) return undefined;
    throw error;
  }
}

// Where an owner listens. Linux: a kernel name with the folder's device and inode, which cannot be deleted.
// Windows: a named pipe. Except on Windows also a file in the folder, which other containers see.

/** A folder by device and inode: the same for every spelling of its path. */
export function folderId(dir: string): string {
  const { dev, ino } = statSync(dir, { bigint: true });
  return `${dev}-${ino}`;
}

/** The address on which only one process of this machine can listen; undefined if there is none. */
export function kernelAddress(id: string): string | undefined {
  if (process.platform === "linux") return `\0turnlog/store/${id}`;
  return process.platform === "win32" ? `\\\\.\\pipe\\turnlog-store-${id}` : undefined;
}

/** The longest socket path in bytes; Linux allows 107. */
const LONGEST_PATH = 103;

/** Uses a socket by a short path, if necessary through a temporary link. */
export async function withSocketPath<Result>(
  path: string,
  act: (path: string) => Promise<Result>,
): Promise<Result> {
  if (Buffer.byteLength(path) <= LONGEST_PATH) return await act(path);
  // Only this user can enter it.
  const folder = mkdtempSync(join(tmpdir().length < 60 ? tmpdir() : "/tmp", "t-"));
  const link = join(folder, "s");
  symlinkSync(dirname(path), link);
  try {
    return await act(join(link, basename(path)));
  } finally {
    unlinkSync(link);
    rmdirSync(folder);
  }
}

// The owner's socket as a file. It is created under another name and renamed: a closing server makes
// libuv delete the name of its creation, even if another process has it by then.

export interface PublishedSocket {
  /** False once another socket has replaced it. If the file was deleted, the owner keeps the store. */
  isInPlace(): boolean;
  release(): void;
}

/** How often to try our own socket again after it sent no greeting in time. */
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
    // Our own socket answers late if this process got no CPU.
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
