/**
 * `!command`: runs a line in the shell of this machine, wherever the agent runs, and without approval: the person
 * typed it. Its output is shown, and the end of it goes with the next message, as an attached file.
 */

import { spawn, type ChildProcess } from "node:child_process";
import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { stripVTControlCharacters } from "node:util";
import { amount } from "../../wording/wording.ts";

/** Most characters of an output that are sent. */
const MOST = 30_000;

interface Ran {
  readonly command: string;
  readonly text: string;
}

export class ShellCommands {
  #child: ChildProcess | undefined;
  #wasStopped = false;
  /** For the next message. */
  #ran: readonly Ran[] = [];

  get isRunning(): boolean {
    return this.#child !== undefined;
  }

  /** Runs a command to its end. @returns how it ended */
  async run(command: string, show: (lines: string) => Promise<void>): Promise<string> {
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
    const closed = new Promise<string>((resolve) => {
      child.once("error", ({ message }) => resolve(message));
      child.once("close", (code, by) =>
        resolve(by === null ? `exit code ${code}` : `ended by ${by}`),
      );
    });
    let output = "";
    let before = 0;
    const read = async (stream: NodeJS.ReadableStream): Promise<void> => {
      let rest = "";
      const take = async (lines: string): Promise<void> => {
        // Of a line that was written over, as a progress bar is, the last state counts.
        const text = stripVTControlCharacters(lines)
          .replaceAll(/\r+$/gm, "")
          .replaceAll(/^.*\r/gm, "");
        const all = `${output}${text}\n`;
        before += Math.max(0, all.length - MOST);
        output = all.slice(-MOST);
        await show(text);
      };
      stream.setEncoding("utf8");
      for await (const piece of stream) {
        const end = (rest += String(piece)).lastIndexOf("\n");
        const lines = rest.slice(0, end);
        rest = rest.slice(end + 1);
        if (end >= 0) await take(lines);
      }
      if (rest !== "") await take(rest);
    };
    try {
      await Promise.all([read(child.stdout), read(child.stderr)]);
      const ended = await closed;
      const cut = before > 0 ? `… ${amount(before, "character")} before\n` : "";
      this.#ran = [...this.#ran, { command, text: `$ ${command}\n${cut}${output}[${ended}]\n` }];
      return ended;
    } finally {
      process.off("exit", kill);
      this.#child = undefined;
    }
  }

  /** Ends the running command; asked again, at once. False if none runs. */
  stop(): boolean {
    if (this.#child === undefined) return false;
    signal(this.#child, this.#wasStopped ? "SIGKILL" : "SIGINT");
    return (this.#wasStopped = true);
  }

  kill(): void {
    if (this.#child !== undefined) signal(this.#child, "SIGKILL");
  }

  /** Sends no output with the next message. False if there was none. */
  forget(): boolean {
    const isSome = this.#ran.length > 0;
    this.#ran = [];
    return isSome;
  }

  /** Calls `send` with files that hold the outputs, and that are gone afterwards. */
  async withOutputs<Sent>(send: (files: readonly string[]) => Promise<Sent>): Promise<Sent> {
    const ran = this.#ran;
    if (ran.length === 0) return await send([]);
    this.#ran = [];
    const folder = await mkdtemp(join(tmpdir(), "turnlog-"));
    try {
      const files = ran.map(async ({ command, text }, index) => {
        // The name of the attachment.
        const name = `output of ${command.replaceAll(/[^\w.-]+/g, " ").slice(0, 60)}`.trim();
        await mkdir(join(folder, String(index)));
        const file = join(folder, String(index), name);
        await writeFile(file, text, { mode: 0o600 });
        return file;
      });
      return await send(await Promise.all(files));
    } catch (error) {
      this.#ran = [...ran, ...this.#ran];
      throw error;
    } finally {
      await rm(folder, { recursive: true, force: true });
    }
  }
}

/** To the whole group; Windows has none. */
function signal(child: ChildProcess, name: NodeJS.Signals): void {
  const { pid } = child;
  if (pid === undefined) return;
  try {
    if (process.platform === "win32") child.kill(name);
    else process.kill(-pid, name);
  } catch {
    // It has ended.
  }
}
