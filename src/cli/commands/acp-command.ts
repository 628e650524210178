/**
 * `turnlog acp`: the sessions of a store for the editor that started this process. Where another process has the store
 * open, its agent answers; once that has gone, this one opens it.
 */

import { resolve } from "node:path";
import { Readable } from "node:stream";
import { serveAcp, type AcpStore, type ReadText } from "../../acp/index.ts";
import type { Agent } from "../../agent/index.ts";
import { createClient, type Client } from "../../client/index.ts";
import { callIdentity, type Runtime } from "../../runtime/index.ts";
import { createServer } from "../../server/index.ts";
import { mentionedFiles } from "../chat/line/mentioned-files.ts";
import { chooseModel } from "../chat/model/model-choice.ts";
import { loadModel } from "../chat/model/model-loading.ts";
import { DONE, reporter, type ExitCode } from "../output/error-report.ts";
import { ownStdout, type Output } from "../output/output.ts";
import { readEnvironment } from "../settings/environment.ts";
import {
  agentMaker,
  assertOwnAgent,
  ownerOr,
  servedRuntime,
  stopSignal,
  type ServedRuntime,
} from "./serve-command.ts";
import type { acpOptions } from "./command-options.ts";
import type { Given } from "./option-values.ts";

export async function acp(options: Given<typeof acpOptions>, output: Output): Promise<ExitCode> {
  const report = reporter(output.progress, options.debug);
  assertOwnAgent(options);
  using _ = ownStdout();
  const make = await agentMaker(options, resolve(options.dir));
  let own: ServedRuntime | undefined;

  const open = async (readText: ReadText): Promise<AcpStore> => {
    own = await servedRuntime(options, {
      agent: ({ metadata: { cwd } }) =>
        make(typeof cwd === "string" ? cwd : process.cwd(), (path, call) =>
          readText(callIdentity(call).session, path),
        ),
      onWarning: report,
    });
    const models = modelsOf(own.runtime, make(process.cwd()).model, options);
    return { client: clientOf(own.runtime), models };
  };

  const served = serveAcp({
    readable: Readable.toWeb(process.stdin),
    writable: new WritableStream({
      write: (bytes) => output.data.write(Buffer.from(bytes).toString()),
    }),
    open: (readText) => ownerOr(options, () => open(readText)),
    mentionedFiles,
    report,
  });
  try {
    await Promise.race([served, stopSignal()]);
    return DONE;
  } finally {
    process.stdin.destroy();
    await Promise.allSettled([served]);
    await own?.[Symbol.asyncDispose]();
  }
}

/** A client of a runtime of this process. */
export function clientOf(runtime: Runtime): Client {
  // Only this process sends requests.
  const limits = { bodyBytes: 1e9, openAnswers: 1e4, requestsPerMinute: 1e7 };
  const server = createServer(runtime, { token: false, limits });
  return createClient({
    baseUrl: "http://localhost",
    fetch: async (request) => {
      const answer = await server.fetch(request);
      // A request that is given up ends its answer, as one over a network does.
      const body = answer.body?.pipeThrough(new TransformStream(), { signal: request.signal });
      return new Response(body ?? null, answer);
    },
  });
}

function modelsOf(
  runtime: Runtime,
  own: Agent["model"],
  { agent: file, model, offer = [], pace = 0 }: Given<typeof acpOptions>,
): NonNullable<AcpStore["models"]> {
  const environment = readEnvironment(process.env);
  const first = file === undefined ? chooseModel(model, environment).label : "that of the agent";
  const chosen = new Map<string, string>();
  return {
    names: [...new Set([first, ...offer])],
    current: (session) => chosen.get(session) ?? first,
    async change(id, name) {
      const asked = name === first ? own : await loadModel(chooseModel(name, environment), pace);
      await (await runtime.session(id)).configure({ model: asked });
      chosen.set(id, name);
    },
  };
}
