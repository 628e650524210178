/**
 * `turnlog mcp-server`: an agent as an MCP server over standard input and output. Its sessions are in the store that a
 * terminal and the studio use too: while another process has it open, that one's agent answers, and this one does when
 * it has gone.
 */

import { resolve } from "node:path";
import { mcpServerOver } from "../../mcp-server/index.ts";
import { createServer } from "../../server/index.ts";
import { createRuntime } from "../../sharing/index.ts";
import { DONE, refuseIdle, reportError, type ExitCode } from "../output/error-report.ts";
import type { Output } from "../output/output.ts";
import { keysIn, ownerOf, runtimeStore } from "../settings/store-folder.ts";
import type { mcpServerOptions } from "./command-options.ts";
import type { Given } from "./option-values.ts";
import { agentOf, askingServers, stopSignal } from "./serve-command.ts";

type Options = Given<typeof mcpServerOptions>;

export async function mcpServer(options: Options, output: Output): Promise<ExitCode> {
  const { remote, agent: module, model } = options;
  if (remote?.kind === "server")
    refuseIdle(
      { "--agent": module !== undefined, "--model": model !== undefined },
      " would have no effect: the server's agent answers.",
    );
  // Standard output is the protocol's: what the module of an agent prints goes elsewhere.
  console.log = console.info = console.debug = console.error;
  const dir = resolve(options.dir);
  const agent = await agentOf(options, dir);
  const mcp = await askingServers(options);
  const onError = (error: unknown): void => void reportError(output.progress, error, options.debug);

  const open = async () => {
    const store = await runtimeStore(options);
    const keys = keysIn(options.keys, dir);
    const runtime = await createRuntime({
      ...store.options,
      hashChain: options.hashChain,
      ...(keys === undefined ? {} : { encryption: { keys } }),
      agent,
      mcp,
      // A client that starts the command again finds the turn that it left.
      recovery: "continue",
      onWarning: onError,
    });
    const server = createServer(runtime, { token: false, onError });
    return {
      fetch: server.fetch,
      close: async () => {
        server.close();
        await runtime.close();
        await store[Symbol.asyncDispose]();
      },
    };
  };

  let own: ReturnType<typeof open> | undefined;
  const ask = async (request: Request): Promise<Response> => {
    const owner = own === undefined ? await ownerOf(options) : undefined;
    if (owner !== undefined) return await owner.fetch(request);
    try {
      return await (await (own ??= open())).fetch(request);
    } catch (error) {
      // Another process was faster: the next request is sent to it.
      own = undefined;
      throw error;
    }
  };
  const { name = typeof agent === "object" ? agent.id : undefined, description } = options;
  const served = mcpServerOver(ask, { name, description });
  await Promise.race([served.connect(), stopSignal()]);
  await served.close();
  await (await own)?.close();
  return DONE;
}
