/** A command with the module that runs it, which is loaded when the command is called. */

import { Command, type Option } from "commander";
import type { ExitCode } from "../output/error-report.ts";
import type { Output } from "../output/output.ts";
import type { Given } from "./option-values.ts";

/** Gets the arguments of the command line, the options with those that all commands share, and the output. */
type Work<Args extends readonly unknown[], Options> = (
  ...given: [...Args, options: Options, output: Output]
) => Promise<ExitCode | void>;

export class LoadedCommand extends Command {
  readonly output: Output;
  readonly #end: (code: ExitCode) => void;

  /** @param end - Receives the exit code of a command that has one of its own. */
  constructor(name: string | undefined, output: Output, end: (code: ExitCode) => void) {
    super(name);
    this.output = output;
    this.#end = end;
  }

  override createCommand(name?: string): LoadedCommand {
    return new LoadedCommand(name, this.output, this.#end);
  }

  /** Takes these options and does the work of a module. `load` may choose the work by the options. */
  does<const Defs extends readonly Option[], Args extends readonly unknown[]>(
    defs: Defs,
    load: (options: Given<Defs>) => Promise<Work<Args, Given<Defs>>>,
  ): this {
    for (const option of defs) this.addOption(option);
    return this.action(async () => {
      const flags = [this, this.parent].flatMap((command) =>
        (command?.options ?? []).filter((one) => one.isBoolean()),
      );
      // A flag that is not given is false.
      const off: object = Object.fromEntries(flags.map((flag) => [flag.attributeName(), false]));
      const options = Object.assign(off, this.optsWithGlobals<Given<Defs>>());
      const work = await load(options);
      // Commander has parsed them as the command declares them.
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion
      const code = await work(...(this.processedArgs as unknown as Args), options, this.output);
      if (code !== undefined) this.#end(code);
    });
  }
}
