/** A store that cannot grow any more, in the middle of a turn: a real limit on the size of files. */
import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { expect, it } from "vitest";
import { main } from "./built-command.ts";
import { jsonLines, run } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { temporaryFolder } from "./temporary-folder.ts";

// Blocks are of 512 or 1024 bytes, by the shell. Without the trap the limit kills instead of failing.
const limited = 'trap "" XFSZ; ulimit -f 60; exec "$0" "$@"';

it.skipIf(process.platform === "win32")(
  "a full disk ends the turn with a typed error and exit 1; what was shown before is in the log",
  async () => {
    await using folder = await temporaryFolder({
      "long.txt": "some words on a line\n".repeat(1900),
    });
    const args = [
      process.execPath,
      main,
      "--session",
      "one",
      "--model",
      "offline",
      "read long.txt",
    ];
    const child = spawn("/bin/sh", ["-c", limited, ...args], {
      cwd: folder.path,
      // The compile cache is files too.
      env: { ...process.env, NODE_DISABLE_COMPILE_CACHE: "1" },
      stdio: ["ignore", "ignore", "pipe"],
    });
    const [stderr] = await Promise.all([text(child.stderr), once(child, "close")]);
    expect(child.exitCode).toBe(1);
    expect(stderr).toContain("→ read_file");
    expect(stderr).not.toContain("✓ read_file");
    expect(stderr).toMatch(/^error: Session one stopped at position \d+: .*\[SESSION_FAILED\]$/m);

    const shown = await run(["show", "one", "--view", "events", "--json"], { cwd: folder.path });
    const types = readEvents(jsonLines(shown.stdout)).map(({ type }) => type);
    expect(types.at(-1)).toBe("tool.started");
  },
);
