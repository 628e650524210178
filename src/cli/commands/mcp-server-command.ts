/**
 * `turnlog mcp-server`: an agent as an MCP server over standard input and output. Its sessions are in the store that a
 * terminal and the studio use too: while another process has it open, that one's agent answers, and this one does when
 * it has gone.
 */

import { resolve } from "node:path";
import { mcpServerOver } from "../../mcp-server/index.ts";
import { createServer, type Server } from "../../server/index.ts";
import { DONE, reporter, type ExitCode } from "../output/error-report.ts";
import { ownStdout, type Output } from "../output/output.ts";
import type { mcpServerOptions } from "./command-options.ts";
import type { Given } from "./option-values.ts";
import { agentMaker, assertOwnAgent, ownerOr, servedRuntime, stopSignal } from "./serve-command.ts";

type Options = Given<typeof mcpServerOptions>;

export async function mcpServer(options: Options, output: Output): Promise<ExitCode> {
  assertOwnAgent(options);
  using _ = ownStdout();
  await using opened = new AsyncDisposableStack();
  const agent = (await agentMaker(options, resolve(options.dir)))(process.cwd());
  const onError = reporter(output.progress, options.debug);
  let own: Promise<Server> | undefined;
  const open = async (): Promise<Server> => {
    const served = await servedRuntime(options, { agent, onWarning: onError });
    opened.use(served);
    const server = createServer(served.runtime, { token: false, onError });
    opened.defer(() => server.close());
    return server;
  };
  const openOnce = (): Promise<Server> =>
    (own ??= open().catch((error: unknown) => {
      own = undefined;
      throw error;
    }));
  const ask = async (request: Request): Promise<Response> =>
    await (await (own ?? ownerOr(options, openOnce))).fetch(request);
  const { name = agent.id, description } = options;
  const served = mcpServerOver(ask, { name, description });
  opened.defer(async () => await served.close());
  await Promise.race([served.connect(), stopSignal()]);
  return DONE;
}
