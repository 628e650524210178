/** The node processes of a cluster test: start, faults, and what they said. A node that was killed is started again. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { z } from "zod";
import { cleanEnvironment } from "../cli/command-line.ts";
import { eventually } from "../support/eventually.ts";
import type { TcpProxy } from "../support/tcp-proxy.ts";

const lineSchema = z.union([
  z.strictObject({ port: z.number() }),
  z.strictObject({ warning: z.string() }),
  z.strictObject({ problem: z.string() }),
]);

export interface Life {
  /** The program of a release. */
  readonly program: string;
  /** Milliseconds by which its clock is wrong. */
  readonly clock: number;
}

export class ClusterNode {
  readonly #args: readonly string[];
  /** Between the node and the database. */
  readonly database: TcpProxy;
  readonly warnings: string[] = [];
  /** What the program found wrong itself. */
  readonly problems: string[] = [];
  /** Exits that nobody asked for. One that finds no database when it starts is started again, as by any supervisor. */
  readonly crashes: string[] = [];
  #life: Life;
  #isAsked = false;
  #port: number | undefined;
  #child: ChildProcess;

  constructor(args: readonly string[], database: TcpProxy, life: Life) {
    this.#args = args;
    this.database = database;
    this.#life = life;
    this.#child = this.#start();
  }

  /** Undefined while it starts. */
  get port(): number | undefined {
    return this.#port;
  }

  /** Ends with SIGKILL, and begins its next life. */
  async kill(next: Partial<Life> = {}): Promise<void> {
    const child = this.#child;
    this.#isAsked = true;
    this.#life = { ...this.#life, ...next };
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    this.#child = this.#start();
  }

  pause(): void {
    this.#child.kill("SIGSTOP");
  }

  resume(): void {
    this.#child.kill("SIGCONT");
  }

  /** Resolves with its exit code, once it has started: a node hands nothing over before it listens to signals. */
  async stop(): Promise<number | null> {
    await eventually(() => {
      if (this.#port === undefined) throw new Error("the node has not started");
    });
    const child = this.#child;
    this.#isAsked = true;
    child.kill("SIGTERM");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
    return child.exitCode;
  }

  /** Ends it if it still runs. */
  async end(): Promise<void> {
    const child = this.#child;
    this.#isAsked = true;
    child.kill("SIGKILL");
    if (child.exitCode === null && child.signalCode === null) await once(child, "exit");
  }

  #start(): ChildProcess {
    this.#isAsked = false;
    this.#port = undefined;
    const { program, clock } = this.#life;
    const child = spawn(process.execPath, [program, ...this.#args, `${clock}`], {
      env: cleanEnvironment({}),
      stdio: ["ignore", "pipe", "pipe"],
    });
    createInterface({ input: child.stdout }).on("line", (line) => {
      const said = lineSchema.parse(JSON.parse(line));
      if ("warning" in said) this.warnings.push(said.warning);
      else if ("problem" in said) this.problems.push(said.problem);
      else if (child === this.#child) this.#port = said.port;
    });
    const errors: string[] = [];
    createInterface({ input: child.stderr }).on("line", (line) => errors.push(line));
    child.on("exit", (code, signal) => {
      if (this.#isAsked || child !== this.#child) return;
      if (this.#port !== undefined) this.crashes.push(`${code ?? signal}: ${errors.join("\n")}`);
      this.#child = this.#start();
    });
    return child;
  }
}
