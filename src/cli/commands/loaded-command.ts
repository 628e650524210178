/** Runs a command by the module that has it, which is loaded when the command is called. */

import type { Command } from "commander";
import type { ExitCode } from "../output/error-report.ts";
import type { Output } from "../output/output.ts";

/** Gets the arguments of the command line, the options with those that all commands share, and the output. */
type Work<Given extends readonly unknown[]> = (
  ...given: [...Given, options: unknown, output: Output]
) => Promise<ExitCode | void>;

/** Makes the action of a command. `load` may choose the work by the options. */
export type Runs = <Given extends readonly unknown[]>(
  load: (options: Readonly<Record<string, unknown>>) => Promise<Work<Given>>,
) => (this: Command) => Promise<void>;

/** @param end - Receives the exit code of a command that has one of its own. */
export function runsWith(output: Output, end: (code: ExitCode) => void): Runs {
  return <Given extends readonly unknown[]>(
    load: (options: Readonly<Record<string, unknown>>) => Promise<Work<Given>>,
  ) =>
    async function (this: Command) {
      const options = this.optsWithGlobals();
      const work = await load(options);
      // Commander has parsed them as the command declares them.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const code = await work(...(this.processedArgs as unknown as Given), options, output);
      if (code !== undefined) end(code);
    };
}
