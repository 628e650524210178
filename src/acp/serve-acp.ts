/**
 * The Agent Client Protocol (v1) over two streams: an editor's requests become commands to the sessions of a store, and
 * their events its updates. The protocol's own library checks messages and their order.
 */

import { isAbsolute } from "node:path";
import type {
  AgentContext,
  AgentHandlerContext,
  SessionConfigOption,
} from "@agentclientprotocol/sdk";
import { hasCode, TurnlogError } from "../events/index.ts";
import { onAbort, optionalPackage } from "../shared/index.ts";
import { editorLink, type AcpOptions, type EditorLink } from "./editor-link.ts";
import { editorSession, type EditorSession } from "./editor-session.ts";
import { modes, type ShownSession } from "./questions.ts";

/** Resolves when the editor has gone. Its sessions keep running. @throws TurnlogError `PACKAGE_MISSING` */
export async function serveAcp(options: AcpOptions): Promise<void> {
  const { readable, writable, report } = options;
  const { agent, methods, ndJsonStream, PROTOCOL_VERSION, RequestError } = await optionalPackage(
    "@agentclientprotocol/sdk",
    "The protocol of editors",
    () => import("@agentclientprotocol/sdk"),
  );
  const sessions = new Map<string, EditorSession>();
  let linked: EditorLink | undefined;
  const linkTo = (editor: AgentContext): EditorLink =>
    (linked ??= editorLink(options, editor, (session) => sessions.has(session)));

  /** A handler for a session: what it throws is said as the protocol says it. */
  function answering<Params, Answer>(
    work: (params: Params, link: EditorLink, signal: AbortSignal) => Promise<Answer>,
  ): (context: AgentHandlerContext<Params>) => Promise<Answer> {
    return async ({ params, client, signal }) => {
      try {
        return await work(params, linkTo(client), signal);
      } catch (error) {
        if (error instanceof RequestError || !(error instanceof Error)) throw error;
        const code = "code" in error ? error.code : undefined;
        throw new RequestError(errorCode(error), error.message, { code });
      }
    };
  }
  const opened = (sessionId: string): EditorSession => {
    const session = sessions.get(sessionId);
    if (session === undefined) throw RequestError.sessionNotFound(sessionId);
    return session;
  };
  /** @param sessionId - Undefined for a new session. */
  const open = async (
    sessionId: string | undefined,
    { cwd, mcpServers = [] }: Opening,
    link: EditorLink,
    replays = false,
  ): Promise<Settings & { readonly sessionId: string }> => {
    if (!isAbsolute(cwd)) throw refusal(`cwd must be an absolute path, and is ${cwd}.`);
    if (mcpServers.length > 0)
      report(refusal("The editor's MCP servers are not used: name them with --mcp."));
    const { id } = await link.use(async ({ client }) =>
      sessionId === undefined
        ? await client.createSession(undefined, { metadata: { cwd } })
        : client.session(sessionId),
    );
    const known = sessions.get(id);
    const session = known ?? editorSession(link, id, cwd);
    // Another request for it may come before it is open.
    sessions.set(id, session);
    await session.open(replays).catch((error: unknown) => {
      if (known === undefined) sessions.delete(id);
      throw error;
    });
    return { sessionId: id, ...(await settings(link, session)) };
  };
  const close = async (sessionId: string): Promise<void> => {
    const session = sessions.get(sessionId);
    sessions.delete(sessionId);
    await session?.giveUp();
    await session?.leave();
  };

  const on = methods.agent.session;
  const app = agent({ name: "turnlog" })
    .onRequest("initialize", ({ params, client }) => {
      linkTo(client).capabilities = params.clientCapabilities ?? {};
      return {
        protocolVersion: PROTOCOL_VERSION,
        agentCapabilities: {
          loadSession: true,
          promptCapabilities: { image: true, embeddedContext: true },
          sessionCapabilities: { list: {}, resume: {}, close: {}, delete: {} },
        },
      };
    })
    .onRequest(
      on.new,
      answering((params, link) => open(undefined, params, link)),
    )
    .onRequest(
      on.load,
      answering(({ sessionId, ...params }, link) => open(sessionId, params, link, true)),
    )
    .onRequest(
      on.resume,
      answering(({ sessionId, ...params }, link) => open(sessionId, params, link)),
    )
    .onRequest(
      on.list,
      answering(async ({ cwd, cursor }, link) => {
        const page = { ...(cursor && { after: cursor }), ...(cwd && { where: { cwd } }) };
        const { sessions: rows, next } = await link.use(({ client }) => client.sessions(page));
        // A sub-agent's session belongs to the call that it runs.
        const own = rows.filter((row) => row.parent === undefined && row.status !== "closed");
        return {
          sessions: own.map(({ session, title, updatedAt, metadata }) => ({
            sessionId: session,
            cwd: typeof metadata?.["cwd"] === "string" ? metadata["cwd"] : process.cwd(),
            title,
            updatedAt: new Date(updatedAt).toISOString(),
          })),
          ...(next !== undefined && { nextCursor: next }),
        };
      }),
    )
    .onRequest(
      on.close,
      answering(async ({ sessionId }) => await close(opened(sessionId).id)),
    )
    .onRequest(
      on.delete,
      answering(async ({ sessionId }, { use }) => {
        await close(sessionId);
        const how = { cancel: true, forks: "copy" } as const;
        await use(({ client }) => client.session(sessionId).delete(how));
      }),
    )
    .onRequest(
      on.prompt,
      answering(async ({ sessionId, prompt }, _link, signal) => {
        const session = opened(sessionId);
        const message = crypto.randomUUID();
        using _ = onAbort(signal, () => {
          // An editor that has gone leaves its turns running.
          if (!connection.signal.aborted) session.giveUp([message]).catch(report);
        });
        return { stopReason: await session.prompt(prompt, message) };
      }),
    )
    .onNotification(on.cancel, async ({ params: { sessionId } }) => {
      await sessions.get(sessionId)?.cancel().catch(report);
    })
    .onRequest(
      on.setConfigOption,
      answering(async ({ sessionId, configId, value }, link) => {
        const session = opened(sessionId);
        const models = await link.use(async (store) => store.models);
        const model = models?.names.find((name) => configId === "model" && name === value);
        if (model !== undefined) await models?.change(sessionId, model);
        else if (configId === "mode" && isMode(value)) session.mode = value;
        else throw refusal(`The setting ${configId} cannot be ${String(value)}.`);
        return await settings(link, session);
      }),
    );
  const connection = app.connect(ndJsonStream(writable, readable));
  await connection.closed;
  await Promise.all([...sessions.values()].map((session) => session.leave()));
}

interface Opening {
  readonly cwd: string;
  readonly mcpServers?: readonly unknown[] | undefined;
}

interface Settings {
  readonly configOptions: SessionConfigOption[];
}

async function settings({ use }: EditorLink, { id, mode }: ShownSession): Promise<Settings> {
  const models = await use(async (store) => store.models);
  const configOptions = [choice("mode", "Mode", mode, Object.entries(modes))];
  if (models !== undefined) {
    const names = models.names.map((name) => [name, name] as const);
    configOptions.push(choice("model", "Model", models.current(id), names));
  }
  return { configOptions };
}

function choice(
  id: "mode" | "model",
  name: string,
  currentValue: string,
  values: readonly (readonly [value: string, name: string])[],
): SessionConfigOption {
  const options = values.map(([value, shown]) => ({ value, name: shown }));
  return { type: "select", id, name, category: id, currentValue, options };
}

function isMode(value: unknown): value is ShownSession["mode"] {
  return typeof value === "string" && Object.hasOwn(modes, value);
}

function refusal(message: string): TurnlogError {
  return new TurnlogError("INVALID_INPUT", message);
}

function errorCode(error: Error): number {
  if (hasCode(error, "SESSION_NOT_FOUND", "SESSION_DELETED")) return -32_002;
  return hasCode(error, "INVALID_INPUT", "COMMAND_REFUSED", "SESSION_CLOSED") ? -32_602 : -32_603;
}
