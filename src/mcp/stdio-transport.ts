/**
 * The stdio transport for the protocol's client. Unlike that package's own, it starts a process group, so
 * that Ctrl-C does not reach the server and no child (as of `npx`) outlives it; it waits for their end, ignores
 * invalid lines on stdout and keeps the end of stderr.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import spawn from "cross-spawn";
import type { StdioMcpServer } from "./mcp-options.ts";
import { cancelled, PendingRequests, whyUnread } from "./pending-requests.ts";

/** Basic variables of a shell: tokens and keys in the environment are not inherited. */
const inherited =
  process.platform === "win32"
    ? ["APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "SYSTEMDRIVE"].concat(
        ["SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"],
      )
    : ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/** Milliseconds between closing stdin, SIGTERM and SIGKILL. */
const PATIENCE_MS = 500;
/** Most characters of a line; a longer one is dropped. */
const LONGEST_LINE = 128 * 1024 * 1024;
const LONGEST_OUTPUT = 2000;

export interface StdioTransportOptions {
  readonly server: StdioMcpServer;
  readonly onEnd: () => void;
}

export class StdioTransport implements Transport {
  /** By these two, the client knows a pipe: a server that does not answer its probe is of an earlier version. */
  readonly stderr = null;
  readonly pid = null;
  readonly sessionId = undefined;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: StdioTransportOptions;
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  readonly #pending = new PendingRequests();
  readonly #lines = new Lines({
    longest: LONGEST_LINE,
    onLine: (line) => {
      this.#readLine(line);
    },
    onTooLong: (beginning) => {
      this.#unread(beginning, `It is longer than ${LONGEST_LINE} characters.`);
    },
  });
  #output = "";

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  /** The end of the output that was not a message. */
  get lastOutput(): string {
    return this.#output.trim();
  }

  async start(): Promise<void> {
    const { command, args = [], env, cwd } = this.#options.server;
    const child = spawn(command, [...args], {
      stdio: ["pipe", "pipe", "pipe"],
      env: { ...ownEnvironment(), ...env },
      detached: process.platform !== "win32",
      windowsHide: true,
      ...(cwd === undefined ? {} : { cwd }),
    });
    this.#child = child;
    this.#ended = new Promise((resolve) => {
      child.once("exit", resolve);
      child.once("error", resolve);
    });
    child.stdout?.setEncoding("utf8").on("data", (text: string) => {
      this.#lines.add(text);
    });
    child.stderr?.setEncoding("utf8").on("data", (text: string) => {
      this.#note(text);
    });
    // Writing to an ended server fails; its end is reported by the events below.
    child.stdin?.on("error", () => {});
    // The end is reported after all output was read, or soon after exit if a child holds the pipes.
    child.once("close", () => this.#close());
    child.once("exit", () => void delay(PATIENCE_MS, undefined, { ref: false }).then(this.#close));
    process.once("exit", this.#kill);
    try {
      await once(child, "spawn");
    } catch (error) {
      this.#close();
      throw error;
    }
  }

  /** A pipe does not say which call a message belongs to. */
  isAnswering(_input: object): boolean {
    return false;
  }

  /** The answer to the call is still awaited. */
  cancel(input: object): void {
    const sent = this.#pending.ofCall(input);
    // A server that is gone needs no cancel.
    if (sent !== undefined) this.send(cancelled(sent)).catch(() => {});
  }

  /** Fails the call; a late answer is ignored. */
  abandon(input: object, why: string): void {
    const sent = this.#pending.ofCall(input);
    if (sent !== undefined) this.onmessage?.(this.#pending.fail(sent, why));
  }

  async send(message: JSONRPCMessage): Promise<void> {
    this.#pending.sent(message);
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) throw new Error("The server is gone.");
    if (!stdin.write(`${JSON.stringify(message)}\n`)) {
      await Promise.race([once(stdin, "drain"), this.#ended]);
    }
  }

  async close(): Promise<void> {
    const child = this.#child;
    child?.stdin?.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#endsSoon()) break;
      this.#signal(signal);
    }
    await this.#ended;
    this.#kill();
    this.#close();
  }

  async #endsSoon(): Promise<boolean> {
    const patience = new AbortController();
    const late = delay(PATIENCE_MS, false, { signal: patience.signal }).catch(() => true);
    const hasEnded = await Promise.race([this.#ended.then(() => true), late]);
    patience.abort();
    return hasEnded;
  }

  #readLine(line: string): void {
    try {
      for (const message of this.#pending.read(JSON.parse(line))) this.onmessage?.(message);
    } catch (error) {
      this.#unread(line, whyUnread(error));
    }
  }

  /** A broken answer, a banner, a log line, or a late answer. */
  #unread(line: string, why: string): void {
    const failed = this.#pending.unread(line, why);
    if (failed !== undefined) this.onmessage?.(failed);
    this.#note(`${line}\n`);
    this.onerror?.(new Error(why));
  }

  #note(text: string): void {
    this.#output = (this.#output + text).slice(-LONGEST_OUTPUT);
  }

  readonly #close = (): void => {
    if (this.#child === undefined) return;
    this.#kill();
    this.#child = undefined;
    process.off("exit", this.#kill);
    this.onclose?.();
    this.#options.onEnd();
  };

  /** Synchronous, so that it works while this process exits. */
  readonly #kill = (): void => {
    this.#signal("SIGKILL");
  };

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      // The process group; on Windows, which has none, the process.
      if (process.platform === "win32") this.#child?.kill(signal);
      else process.kill(-pid, signal);
    } catch (error) {
      // The group is empty; macOS reports EPERM for a group of zombies.
      const code = error instanceof Error && "code" in error ? error.code : undefined;
      if (code !== "ESRCH" && code !== "EPERM") throw error;
    }
  }
}

function ownEnvironment(): Record<string, string> {
  return Object.fromEntries(
    inherited.flatMap((name) => {
      const value = process.env[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

// Splits the chunks of a pipe into lines in linear time: the chunks of a line are joined once, at its end.

interface LineReader {
  readonly onLine: (line: string) => void;
  /** Called once for a line that is too long, with its first chunk; the rest is dropped. */
  readonly onTooLong: (beginning: string) => void;
  /** Most characters of a line. */
  readonly longest: number;
}

export class Lines {
  readonly #reader: LineReader;
  #pieces: string[] = [];
  #length = 0;
  #isDropped = false;

  constructor(reader: LineReader) {
    this.#reader = reader;
  }

  add(text: string): void {
    let start = 0;
    for (let end = text.indexOf("\n"); end !== -1; end = text.indexOf("\n", start)) {
      this.#take(text.slice(start, end));
      this.#end();
      start = end + 1;
    }
    if (start < text.length) this.#take(text.slice(start));
  }

  #take(piece: string): void {
    if (this.#isDropped) return;
    this.#pieces.push(piece);
    this.#length += piece.length;
    if (this.#length <= this.#reader.longest) return;
    const [beginning = ""] = this.#pieces;
    this.#isDropped = true;
    this.#pieces = [];
    this.#reader.onTooLong(beginning);
  }

  #end(): void {
    const line = this.#pieces.join("");
    const isWhole = !this.#isDropped;
    this.#pieces = [];
    this.#length = 0;
    this.#isDropped = false;
    if (isWhole && line.trim() !== "") this.#reader.onLine(line);
  }
}
