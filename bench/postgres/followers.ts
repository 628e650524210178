/** Starts `follower-child.ts`. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";

export interface Follower {
  /** When it saw an event, in milliseconds since 1970, by `<session> <position>`. */
  readonly seen: ReadonlyMap<string, number>;
  readonly end: () => Promise<void>;
}

export async function startFollower({
  program,
  connectionString,
  schema,
  listen = true,
}: {
  /** Bundled. */
  readonly program: string;
  readonly connectionString: string;
  readonly schema: string;
  readonly listen?: boolean;
}): Promise<Follower> {
  const child = spawn(process.execPath, [program, connectionString, schema, `${listen}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface({ input: child.stdout });
  const seen = new Map<string, number>();
  await once(lines, "line");
  lines.on("line", (line) => {
    const [session = "", position = "", at] = line.split(" ");
    seen.set(`${session} ${position}`, Number(at));
  });
  return {
    seen,
    end: async () => {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
