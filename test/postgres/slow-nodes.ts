/** Starts processes of `slow-node.ts`. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { z } from "zod";

export interface SlowNode extends AsyncDisposable {
  readonly url: string;
  readonly kill: () => void;
  /** As a platform freezes a function between two requests. */
  readonly freeze: () => void;
  readonly thaw: () => void;
}

export async function startSlowNode({
  program,
  connectionString,
  schema,
  listen = false,
  words = 100,
}: {
  /** Bundled. */
  readonly program: string;
  readonly connectionString: string;
  readonly schema: string;
  readonly listen?: boolean;
  /** Of each reply. */
  readonly words?: number;
}): Promise<SlowNode> {
  const child = spawn(
    process.execPath,
    [program, connectionString, schema, `${listen}`, `${words}`],
    {
      stdio: ["ignore", "pipe", "inherit"],
    },
  );
  const line = once(createInterface({ input: child.stdout }), "line");
  const ended = once(child, "close").then(([code]) => {
    throw new Error(`The node ended with ${code} before it listened.`);
  });
  ended.catch(() => {});
  const [url] = z.tuple([z.string()]).parse(await Promise.race([line, ended]));
  return {
    url,
    kill: () => {
      child.kill("SIGKILL");
    },
    freeze: () => {
      child.kill("SIGSTOP");
    },
    thaw: () => {
      child.kill("SIGCONT");
    },
    async [Symbol.asyncDispose]() {
      child.kill("SIGKILL");
      if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    },
  };
}
