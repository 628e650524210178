/** Creates the runtime that programs use. The server that shares its store is loaded at the first connection. */

import type { DefinedEvents, EventSchemas, NoEvents } from "../events/index.ts";
import {
  createRuntime as openRuntime,
  type Runtime,
  type RuntimeOptions,
  type SharedStore,
} from "../runtime/index.ts";
import { assertNodeVersion } from "../shared/index.ts";

/**
 * Opens a store and runs sessions of an agent on it. While it is open, other processes of the same user may
 * use the store too: the command line does (`share: false` switches it off).
 * @example
 * await using runtime = await createRuntime({ dir: ".turnlog", agent: { model, instructions, tools } });
 * const session = await runtime.session("s-1");
 * const turn = await session.send("Which tests failed?");
 * const { text } = await turn.result;
 * @throws TurnlogError `INVALID_INPUT`, `LOG_LOCKED`, `LOG_FOREIGN`, `LOG_DAMAGED`, `LOG_TOO_NEW`,
 * `LOG_READ_ONLY`, `NODE_TOO_OLD`
 */
export async function createRuntime<Events extends EventSchemas = NoEvents>(
  options: RuntimeOptions & { readonly events?: DefinedEvents<Events> },
): Promise<Runtime<Events>> {
  assertNodeVersion();
  return await openRuntime(options, (opened, store) => {
    let loaded: Promise<SharedStore> | undefined;
    return {
      accept: (connection) => {
        loaded ??= import("../server/shared-store.ts").then(({ sharedStore }) =>
          sharedStore(opened, store),
        );
        loaded.then(
          ({ accept }) => accept(connection),
          (error: unknown) => {
            process.emitWarning(error instanceof Error ? error : String(error));
            connection.destroy();
          },
        );
      },
      close: async () => {
        const shared = await loaded?.catch(() => undefined);
        await shared?.close();
      },
    };
  });
}
