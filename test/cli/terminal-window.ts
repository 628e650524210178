/** A window of tmux: a terminal with rows and columns that shows what a command writes, and can be resized. */
import { execFile, spawnSync } from "node:child_process";
import { writeFile } from "node:fs/promises";
import { promisify } from "node:util";
import { eventually } from "../support/eventually.ts";
import { cleanEnvironment } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

/** Whether tmux is installed; without it nothing tells what a terminal shows of the command's output. */
export const hasWindows: boolean = spawnSync("tmux", ["-V"]).status === 0;

/** Each look starts a process. */
const LOOK_MS = 100;

export interface TerminalWindow extends AsyncDisposable {
  /** Presses a key by tmux's name for it, as "Enter" and "C-z". */
  press(key: string): Promise<void>;
  type(text: string): Promise<void>;
  /** Pastes as a terminal does that marks what is pasted. */
  paste(text: string): Promise<void>;
  resize(columns: number): Promise<void>;
  /** All rows, with those that have been scrolled away. `styled`: with the sequences of colours. */
  rows(styled?: "styled"): Promise<readonly string[]>;
  /** Resolves when the rows match. */
  until(pattern: RegExp): Promise<void>;
  /** Resolves when the command has ended. tmux does not always write so into the window. */
  ended(): Promise<void>;
}

export interface TerminalWindowOptions {
  readonly cwd: string;
  readonly columns: number;
  readonly env?: Readonly<Record<string, string>>;
}

/** @param words - The program and its arguments. */
export async function terminalWindow(
  words: readonly string[],
  { cwd, columns, env = {} }: TerminalWindowOptions,
): Promise<TerminalWindow> {
  const folder = await temporaryFolder();
  const environment = { ...cleanEnvironment(env), TERM: "xterm-256color", LANG: "C.UTF-8" };
  const tmux = async (...args: readonly string[]): Promise<string> => {
    const common = ["-u", "-f", "/dev/null", "-S", folder.at("socket")];
    const options = { cwd, env: environment, maxBuffer: 2 ** 26 };
    return (await promisify(execFile)("tmux", [...common, ...args], options)).stdout;
  };
  const size = (width: number): readonly string[] => ["-x", String(width), "-y", "24"];
  const settings = [
    "set",
    "-g",
    "history-limit",
    "20000",
    ";",
    "set",
    "-g",
    "remain-on-exit",
    "on",
  ];
  await tmux(
    "start-server",
    ";",
    ...settings,
    ";",
    "new-session",
    "-d",
    ...size(columns),
    ...words,
  );
  const rows = async (styled?: "styled"): Promise<readonly string[]> => {
    const style = styled === undefined ? [] : ["-e"];
    return (await tmux("capture-pane", "-p", ...style, "-S", "-")).trimEnd().split("\n");
  };
  return {
    rows,
    press: async (key) => void (await tmux("send-keys", key)),
    type: async (text) => void (await tmux("send-keys", "-l", text)),
    async paste(text) {
      await writeFile(folder.at("pasted"), text);
      await tmux("load-buffer", folder.at("pasted"), ";", "paste-buffer", "-p");
    },
    resize: async (width) => void (await tmux("resize-window", ...size(width))),
    async until(pattern) {
      await eventually(async () => {
        const shown = (await rows()).join("\n");
        if (!pattern.test(shown)) throw new Error(`Not yet ${pattern}:\n${shown}`);
      }, LOOK_MS);
    },
    async ended() {
      await eventually(async () => {
        if ((await tmux("display-message", "-p", "#{pane_dead}")).trim() !== "1")
          throw new Error("The command still runs.");
      }, LOOK_MS);
    },
    async [Symbol.asyncDispose]() {
      await tmux("kill-server");
      await folder[Symbol.asyncDispose]();
    },
  };
}
