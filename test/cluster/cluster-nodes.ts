/** The node processes of a cluster test: start, commands, faults. A node that was killed is started again. */

import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createInterface } from "node:readline";
import { z } from "zod";
import { cleanEnvironment } from "../cli/command-line.ts";

const answerSchema = z.object({
  id: z.string().optional(),
  ready: z.boolean().optional(),
  accepted: z.boolean().optional(),
  ended: z.string().optional(),
  failed: z.string().optional(),
  warning: z.string().optional(),
});
type Answer = z.infer<typeof answerSchema>;

export class ClusterNode {
  readonly #args: readonly string[];
  readonly #answers = new Map<string, PromiseWithResolvers<Answer>>();
  readonly warnings: string[] = [];
  /** Exits that nobody asked for. */
  readonly crashes: string[] = [];
  #isAsked = false;
  #isReady = false;
  readonly ended: Map<string, string>;
  #child: ChildProcess | undefined;
  #ready = Promise.withResolvers<void>();

  constructor(args: readonly string[], ended: Map<string, string>) {
    this.#args = args;
    this.ended = ended;
    this.start();
  }

  start(): void {
    // Callers that wait for a node that was killed wait for the next one.
    if (this.#isReady) this.#ready = Promise.withResolvers<void>();
    this.#isReady = false;
    this.#isAsked = false;
    const child = spawn(process.execPath, [...this.#args], {
      env: cleanEnvironment({}),
      stdio: ["pipe", "pipe", "inherit"],
    });
    this.#child = child;
    child.stdin.on("error", () => {});
    createInterface({ input: child.stdout }).on("line", (line) => {
      this.#answered(answerSchema.parse(JSON.parse(line)));
    });
    child.on("exit", (code, signal) => {
      if (!this.#isAsked) {
        this.crashes.push(`${code ?? signal}`);
        this.start();
      }
      for (const [id, answer] of this.#answers) answer.resolve({ id, failed: "the node died" });
      this.#answers.clear();
    });
  }

  /** Whether the node accepted the message; it may have, if it did not answer. */
  async send(session: string, id: string): Promise<boolean> {
    await this.#ready.promise;
    const answer = Promise.withResolvers<Answer>();
    this.#answers.set(id, answer);
    this.#child?.stdin?.write(`${JSON.stringify({ session, id })}\n`);
    return (await answer.promise).accepted === true;
  }

  async kill(): Promise<void> {
    const child = this.#child;
    if (child === undefined) return;
    this.#isAsked = true;
    child.kill("SIGKILL");
    await once(child, "exit");
    this.start();
  }

  pause(): void {
    this.#child?.kill("SIGSTOP");
  }

  resume(): void {
    this.#child?.kill("SIGCONT");
  }

  /** Resolves with its exit code. */
  async stop(): Promise<number | null> {
    const child = this.#child;
    if (child === undefined) return 0;
    this.#isAsked = true;
    child.kill("SIGTERM");
    await once(child, "exit");
    return child.exitCode;
  }

  #answered(answer: Answer): void {
    const { id, ready, ended, warning } = answer;
    if (ready === true) {
      this.#isReady = true;
      this.#ready.resolve();
    }
    if (warning !== undefined) this.warnings.push(warning);
    if (id === undefined) return;
    if (ended !== undefined) this.ended.set(id, ended);
    this.#answers.get(id)?.resolve(answer);
    this.#answers.delete(id);
  }
}
