/**
 * The pipe to an MCP server that is a process of ours, for the client of `@ai-sdk/mcp`. Unlike the
 * transport that comes with it, it starts a process group of its own, so that Ctrl-C in a terminal
 * does not reach the server and no process that the server has started (`npx` does) outlives it; it
 * waits for their end; it survives rubbish on stdout and keeps the last words of stderr.
 */

import type { ChildProcess } from "node:child_process";
import { once } from "node:events";
import { setTimeout as delay } from "node:timers/promises";
import type { JSONRPCMessage, MCPTransport } from "@ai-sdk/mcp";
import spawn from "cross-spawn";
import { Lines } from "./lines.ts";
import type { StdioMcpServer } from "./mcp-options.ts";
import { cancelled, PendingRequests, whyUnread } from "./pending-requests.ts";

/** What a shell has of its own: tokens and keys of the environment are not handed on unasked. */
const inherited =
  process.platform === "win32"
    ? ["APPDATA", "HOMEDRIVE", "HOMEPATH", "LOCALAPPDATA", "PATH", "PATHEXT", "SYSTEMDRIVE"].concat(
        ["SYSTEMROOT", "TEMP", "USERNAME", "USERPROFILE"],
      )
    : ["HOME", "LANG", "LOGNAME", "PATH", "SHELL", "TERM", "TMPDIR", "USER"];

/** Milliseconds between closing its stdin, SIGTERM and SIGKILL. */
const PATIENCE_MS = 500;
/** Characters of a line: one that is longer is not kept. */
const LONGEST_LINE = 128 * 1024 * 1024;
const LAST_WORDS = 2000;

export interface StdioTransportOptions {
  readonly server: StdioMcpServer;
  /** Told once, when the server is gone. */
  readonly onEnd: () => void;
  /** Told that the server has other tools now. */
  readonly onToolsChanged: () => void;
}

export class StdioTransport implements MCPTransport {
  readonly supportsProtocolVersionDiscovery = true;
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: (message: JSONRPCMessage) => void;
  readonly #options: StdioTransportOptions;
  #child: ChildProcess | undefined;
  #ended: Promise<unknown> = Promise.resolve();
  readonly #pending = new PendingRequests();
  /** Requests by what they hand over. */
  readonly #requests = new WeakMap<object, string | number>();
  readonly #lines = new Lines({
    longest: LONGEST_LINE,
    onLine: (line) => {
      this.#take(line);
    },
    onTooLong: (beginning) => {
      this.#unread(beginning, `It is longer than ${LONGEST_LINE} characters.`);
    },
  });
  #said = "";

  constructor(options: StdioTransportOptions) {
    this.#options = options;
  }

  /** The end of what it wrote that was no message. */
  get lastWords(): string {
    return this.#said.trim();
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
    // A server that is gone does not read: that it is gone is told by its end.
    child.stdin?.on("error", () => {});
    // Its end is told when all that it said has been read, or when somebody else holds its pipes.
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

  /** Tells the server that nobody needs the answer to the call with this very input any more. */
  cancel(input: object): void {
    const requestId = this.#requests.get(input);
    if (requestId === undefined || this.#child?.stdin?.writable !== true) return;
    this.#child.stdin.write(`${JSON.stringify(cancelled(requestId))}\n`);
  }

  async send(message: JSONRPCMessage): Promise<void> {
    if ("method" in message && "id" in message) {
      this.#pending.sent(message);
      const input = message.params?.["arguments"];
      if (typeof input === "object" && input !== null) this.#requests.set(input, message.id);
    }
    const stdin = this.#child?.stdin;
    if (stdin?.writable !== true) throw new Error("The server is gone.");
    if (!stdin.write(`${JSON.stringify(message)}\n`)) {
      await Promise.race([once(stdin, "drain"), this.#ended]);
    }
  }

  /** Resolves when the server and all that it has started are gone. */
  async close(): Promise<void> {
    const child = this.#child;
    child?.stdin?.end();
    for (const signal of ["SIGTERM", "SIGKILL"] as const) {
      if (await this.#isGone()) break;
      this.#signal(signal);
    }
    await this.#ended;
    // What it has started and left behind.
    this.#kill();
    this.#close();
  }

  async #isGone(): Promise<boolean> {
    const patience = new AbortController();
    const late = delay(PATIENCE_MS, false, { signal: patience.signal }).catch(() => true);
    const gone = await Promise.race([this.#ended.then(() => true), late]);
    patience.abort();
    return gone;
  }

  #take(line: string): void {
    try {
      for (const message of this.#pending.read(JSON.parse(line))) this.#tell(message);
    } catch (error) {
      this.#unread(line, whyUnread(error));
    }
  }

  /** A broken answer, or a banner, a log line, an answer that nobody waits for any more. */
  #unread(line: string, why: string): void {
    const failed = this.#pending.unread(line, why);
    if (failed !== undefined) this.#tell(failed);
    this.#note(`${line}\n`);
    this.onerror?.(new Error(why));
  }

  #tell(message: JSONRPCMessage): void {
    if ("method" in message && !("id" in message)) {
      if (message.method === "notifications/tools/list_changed") this.#options.onToolsChanged();
    } else {
      this.onmessage?.(message);
    }
  }

  #note(text: string): void {
    this.#said = (this.#said + text).slice(-LAST_WORDS);
  }

  readonly #close = (): void => {
    if (this.#child === undefined) return;
    this.#kill();
    this.#child = undefined;
    process.off("exit", this.#kill);
    this.onclose?.();
    this.#options.onEnd();
  };

  /** At once: also in a process that is about to end. */
  readonly #kill = (): void => {
    this.#signal("SIGKILL");
  };

  #signal(signal: NodeJS.Signals): void {
    const pid = this.#child?.pid;
    if (pid === undefined) return;
    try {
      // The whole group; where there are none, the process.
      if (process.platform === "win32") this.#child?.kill(signal);
      else process.kill(-pid, signal);
    } catch (error) {
      // Nobody is left; on macOS, nobody but who has ended and was not waited for.
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
