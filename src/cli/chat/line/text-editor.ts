/** Opens a text in the editor of the person, as `git commit` does. */

import { spawn } from "node:child_process";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";

/**
 * The edited text; undefined if the editor failed or could not be started.
 * @param command - As VISUAL and EDITOR have it: a program, with options.
 */
export async function editText(command: string, text: string): Promise<string | undefined> {
  const folder = await mkdtemp(join(tmpdir(), "turnlog-"));
  try {
    const file = join(folder, "message.md");
    await writeFile(file, text, { mode: 0o600 });
    const editor = spawn(`${command} ${JSON.stringify(file)}`, { shell: true, stdio: "inherit" });
    const code = await new Promise<number | null>((resolve) => {
      editor.once("error", () => resolve(null)).once("close", resolve);
    });
    // An editor ends the last line.
    return code === 0 ? (await readFile(file, "utf8")).replace(/\n$/, "") : undefined;
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

/** One text at a time: while it is open, the editor has the screen. */
export class OpenEditor {
  #closed: Promise<void> | undefined;

  get isOpen(): boolean {
    return this.#closed !== undefined;
  }

  /** Settles when no editor is open. */
  get closed(): Promise<void> | undefined {
    return this.#closed;
  }

  async use<Result>(work: () => Promise<Result>): Promise<Result> {
    const closed = Promise.withResolvers<void>();
    this.#closed = closed.promise;
    try {
      return await work();
    } finally {
      this.#closed = undefined;
      closed.resolve();
    }
  }
}
