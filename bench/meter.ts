/** Takes the cost of one session, step by step: a mark at every model call, and one at the end. */

import { readFileSync } from "node:fs";
import type { LanguageModelV4CallOptions } from "@ai-sdk/provider";
import { median } from "./statistics.ts";
import type { Workload } from "./workload.ts";

export interface Cost {
  /** Milliseconds of user and system time a step, over the whole session. */
  readonly cpuMs: number;
  readonly wallMs: number;
  /** CPU of a typical step (the median) among the first tenth of them, and among the last. */
  readonly firstCpuMs: number;
  readonly lastCpuMs: number;
  /** Bytes that the process has handed to the disk; undefined where the system does not tell. */
  readonly writtenBytes: number | undefined;
}

export interface Mark {
  /** Milliseconds of user and system time of the whole process, all its threads included. */
  readonly cpuMs: number;
  readonly wallMs: number;
}

export function mark(): Mark {
  const { user, system } = process.cpuUsage();
  return { cpuMs: (user + system) / 1000, wallMs: performance.now() };
}

/** Bytes that the process has handed to the disk so far; undefined where the system does not tell. */
export function writtenBytes(): number | undefined {
  if (process.platform !== "linux") return undefined;
  const told = /^write_bytes: (\d+)$/m.exec(readFileSync("/proc/self/io", "utf8"))?.[1];
  return told === undefined ? undefined : Number(told);
}

export class Meter {
  readonly #workload: Workload;
  readonly #calls: Mark[] = [];
  #start: Mark | undefined;
  #writtenBefore: number | undefined;
  #stepsEnd: Mark | undefined;
  #characters = 0;

  constructor(workload: Workload) {
    this.#workload = workload;
  }

  /** The clock starts: the request is sent next. */
  start(): void {
    this.#writtenBefore = writtenBytes();
    this.#start = mark();
  }

  /** For the model: a step begins. Each must be given the whole conversation so far. */
  call(step: number, { prompt }: LanguageModelV4CallOptions): void {
    if (prompt.length !== 1 + 2 * step) {
      throw new Error(`Step ${step + 1} was given ${prompt.length} messages.`);
    }
    this.#calls.push(mark());
  }

  /** For the consumer: a delta has come. */
  saw(text: string): void {
    this.#characters += text.length;
  }

  /** For the consumer: the last step is over. */
  stepsEnd(): void {
    this.#stepsEnd = mark();
  }

  /** Everything that belongs to the session is done, also what may have waited for the last step. */
  end(): Cost {
    const end = mark();
    const written = writtenBytes();
    const { steps, deltaCharacters } = this.#workload;
    if (this.#start === undefined || this.#stepsEnd === undefined) {
      throw new Error("A session is measured from its start to its end.");
    }
    if (this.#calls.length !== steps || this.#characters !== deltaCharacters) {
      throw new Error(
        `Other work was done: ${this.#calls.length} steps, ${this.#characters} characters.`,
      );
    }
    const marks = [...this.#calls, this.#stepsEnd].map((each) => each.cpuMs);
    const steply = marks.slice(1).map((cpuMs, step) => cpuMs - (marks[step] ?? 0));
    const tenth = Math.max(1, Math.floor(steps / 10));
    return {
      cpuMs: (end.cpuMs - this.#start.cpuMs) / steps,
      wallMs: (end.wallMs - this.#start.wallMs) / steps,
      firstCpuMs: median(steply.slice(0, tenth)),
      lastCpuMs: median(steply.slice(-tenth)),
      writtenBytes:
        written === undefined || this.#writtenBefore === undefined
          ? undefined
          : written - this.#writtenBefore,
    };
  }
}
