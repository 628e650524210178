/**
 * `!command`: runs a line in the shell of this machine, wherever the agent runs, and without approval: the person
 * typed it. Its output is shown, and the end of it goes with the next message, as an attached file.
 */

import { spawn, type ChildProcessByStdio } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { hasCode, TurnlogError } from "../../../events/index.ts";
import { visibleText } from "../../output/visible-text.ts";
import { amount } from "../../wording/wording.ts";

/** Most characters of an output that are sent. */
const MOST = 30_000;
/** A line that is longer is shown in pieces. */
const LONGEST_LINE = 4096;
/** How long the pipes stay open after the shell, once they are read: a process may hold them for good. */
const AFTERWARDS_MS = 1000;

type Child = ChildProcessByStdio<null, Readable, Readable>;

interface Ran {
  readonly session: string;
  readonly command: string;
  readonly text: string;
}

export class ShellCommands {
  #child: Child | undefined;
  #wasStopped = false;
  /** For the next message to their sessions. */
  #ran: readonly Ran[] = [];

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Runs a command to its end. @returns how it ended */
  async run(
    session: string,
    command: string,
    show: (lines: string) => Promise<void>,
  ): Promise<string> {
    const child = spawn(command, {
      shell: true,
      stdio: ["ignore", "pipe", "pipe"],
      // A group of its own, to be stopped as a whole; without the terminal, whose keys are read here.
      detached: process.platform !== "win32",
      windowsHide: true,
    });
    this.#child = child;
    this.#wasStopped = false;
    const kill = (): void => signal(child, "SIGKILL");
    process.once("exit", kill);
    let afterwards: NodeJS.Timeout | undefined;
    child.once("exit", () => {
      afterwards = setInterval(() => {
        const unread = child.stdout.readableLength + child.stderr.readableLength;
        if (unread === 0 || this.#wasStopped) close(child);
      }, AFTERWARDS_MS);
    });
    const closed = new Promise<string>((resolve) => {
      child.once("error", ({ message }) => resolve(message));
      child.once("close", (code, by) =>
        resolve(by === null ? `exit code ${code}` : `ended by ${by}`),
      );
    });
    let output = "";
    let before = 0;
    const read = async (stream: Readable): Promise<void> => {
      let rest = "";
      const take = async (lines: string): Promise<void> => {
        // Of a line that was written over, as a progress bar is, the last state counts.
        const last = stripVTControlCharacters(lines)
          .replaceAll(/\r+$/gm, "")
          .replaceAll(/^.*\r/gm, "");
        // With a NUL it would be no text, and could not be attached.
        const text = visibleText(last);
        const all = `${output}${text}\n`;
        before += Math.max(0, all.length - MOST);
        output = all.slice(-MOST);
        await show(text);
      };
      stream.setEncoding("utf8");
      try {
        for await (const chunk of stream) {
          const piece = String(chunk);
          const end = piece.lastIndexOf("\n");
          if (end >= 0) await take(rest + piece.slice(0, end));
          rest = end >= 0 ? piece.slice(end + 1) : rest + piece;
          if (rest.length > LONGEST_LINE) {
            await take(rest);
            rest = "";
          }
        }
      } catch (error) {
        // It was closed here.
        if (!hasCode(error, "ERR_STREAM_PREMATURE_CLOSE")) throw error;
      }
      if (rest !== "") await take(rest);
    };
    try {
      await Promise.all([read(child.stdout), read(child.stderr)]);
      const ended = await closed;
      const cut = before > 0 ? `… ${amount(before, "character")} before\n` : "";
      this.#ran = [
        ...this.#ran,
        { session, command, text: `$ ${command}\n${cut}${output}[${ended}]\n` },
      ];
      return ended;
    } finally {
      clearInterval(afterwards);
      process.off("exit", kill);
      this.#child = undefined;
    }
  }

  /** Ends the running command; asked again, at once. False if none runs. */
  stop(): boolean {
    if (this.#child === undefined) return false;
    if (this.#wasStopped) this.kill();
    else signal(this.#child, "SIGINT");
    return (this.#wasStopped = true);
  }

  kill(): void {
    if (this.#child === undefined) return;
    signal(this.#child, "SIGKILL");
    close(this.#child);
  }

  /** Sends no output with the next message. False if there was none. */
  forget(): boolean {
    const isSome = this.#ran.length > 0;
    this.#ran = [];
    return isSome;
  }

  /** Calls `send` with files that hold the outputs for this session, and that are gone afterwards. */
  async withOutputs<Sent>(
    session: string,
    send: (files: readonly string[]) => Promise<Sent>,
  ): Promise<Sent> {
    const ran = this.#ran.filter((one) => one.session === session);
    if (ran.length === 0) return await send([]);
    this.#ran = this.#ran.filter((one) => one.session !== session);
    try {
      const folder = await mkdtemp(join(tmpdir(), "turnlog-")).catch(refuse);
      await using _ = {
        [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
      };
      const files = ran.map(async ({ command, text }, index) => {
        // The name of the attachment.
        const name = `output of ${command.replaceAll(/[^\w.-]+/g, " ").slice(0, 60)}`.trim();
        await mkdir(join(folder, String(index)));
        const file = join(folder, String(index), name);
        await writeFile(file, text, { mode: 0o600 });
        return file;
      });
      return await send(await Promise.all(files).catch(refuse));
    } catch (error) {
      this.#ran = [...ran, ...this.#ran];
      throw error;
    }

    function refuse(cause: unknown): never {
      throw new TurnlogError(
        "INVALID_INPUT",
        `The output of your command could not be written to ${tmpdir()}, and nothing was sent to session ${session}: ${String(cause)}. Make room there and send again, or take the output back with Ctrl-C.`,
        { session, cause },
      );
    }
  }
}

/** Drops what is unread, whoever still holds the other ends. */
function close({ stdout, stderr }: Child): void {
  stdout.destroy();
  stderr.destroy();
}

/** To the whole group; Windows has none. */
function signal(child: Child, name: NodeJS.Signals): void {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(name);
    else process.kill(-pid, name);
  } catch {
    // It has ended.
  }
}
