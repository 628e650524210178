/** A scripted editor: the client side of the protocol's own library, at a store in memory, over streams in memory. */

import * as acp from "@agentclientprotocol/sdk";
import { serveAcp, type AcpOptions, type AcpStore } from "../../src/acp/index.ts";
import { clientOf } from "../../src/cli/commands/acp-command.ts";
import { mentionedFiles } from "../../src/cli/chat/line/mentioned-files.ts";
import { createRuntime, type Runtime } from "../../src/public/index.ts";
import type { Agent } from "../../src/agent/index.ts";

const folder = "/work/folder";

export interface EditorOptions {
  readonly capabilities?: acp.ClientCapabilities;
  /** Answers a question. Default: nobody does. */
  readonly permission?: (
    asked: acp.RequestPermissionRequest,
    signal: AbortSignal,
  ) => Promise<string | undefined>;
  readonly elicit?: (asked: acp.CreateElicitationRequest) => acp.CreateElicitationResponse;
  /** Files with changes that are not saved. */
  readonly unsaved?: Readonly<Record<string, string>>;
  readonly models?: AcpStore["models"];
  readonly initializes?: boolean;
}

export interface ScriptedEditor extends AsyncDisposable {
  readonly agent: acp.ClientContext;
  readonly updates: readonly acp.SessionNotification[];
  readonly asked: readonly acp.RequestPermissionRequest[];
  readonly elicited: readonly acp.CreateElicitationRequest[];
  readonly reports: readonly unknown[];
  /** The text of the updates of a kind, joined. */
  said(kind: "user_message_chunk" | "agent_message_chunk" | "agent_thought_chunk"): string;
  /** Bytes on the agent's input, past the library. */
  raw(line: string): Promise<void>;
}

/** The store of a runtime, as the command line gives it. */
export function storeOf(runtime: Runtime, models?: AcpStore["models"]): AcpStore {
  const client = clientOf(runtime);
  return models === undefined ? { client } : { client, models };
}

export async function memoryRuntime(agent: Agent): Promise<Runtime> {
  return await createRuntime({ memory: true, agent, recovery: "continue" });
}

const never = new Promise<never>(() => {});

/** An editor whose agent runs in this process. */
export async function editorAt(
  open: AcpOptions["open"],
  options: EditorOptions = {},
  mentioned: AcpOptions["mentionedFiles"] = mentionedFiles,
): Promise<ScriptedEditor> {
  const toAgent = new TransformStream<Uint8Array, Uint8Array>();
  const toEditor = new TransformStream<Uint8Array, Uint8Array>();
  const reports: unknown[] = [];
  const served = serveAcp({
    readable: toAgent.readable,
    writable: toEditor.writable,
    open,
    mentionedFiles: mentioned,
    report: (error) => reports.push(error),
  });
  const editor = await editorOf({ to: toAgent.writable, from: toEditor.readable }, options);
  return {
    ...editor,
    reports,
    async [Symbol.asyncDispose]() {
      await editor[Symbol.asyncDispose]();
      await toAgent.writable.abort().catch(() => {});
      await served;
    },
  };
}

export interface Streams {
  readonly to: WritableStream<Uint8Array>;
  readonly from: ReadableStream<Uint8Array>;
}

/** An editor at the streams of an agent. */
export async function editorOf(
  { to, from }: Streams,
  options: EditorOptions = {},
): Promise<ScriptedEditor> {
  const { capabilities = {}, permission, elicit, unsaved = {}, initializes = true } = options;
  const updates: acp.SessionNotification[] = [];
  const asked: acp.RequestPermissionRequest[] = [];
  const elicited: acp.CreateElicitationRequest[] = [];
  const connection = acp
    .client({ name: "scripted editor" })
    .onNotification("session/update", ({ params }) => {
      updates.push(params);
    })
    .onRequest("session/request_permission", async ({ params, signal }) => {
      asked.push(params);
      const optionId = await (permission?.(params, signal) ?? never);
      if (optionId === undefined) return { outcome: { outcome: "cancelled" } };
      return { outcome: { outcome: "selected", optionId } };
    })
    .onRequest("elicitation/create", ({ params }) => {
      elicited.push(params);
      return elicit?.(params) ?? { action: "decline" };
    })
    .onRequest("fs/read_text_file", ({ params: { path } }) => {
      const content = unsaved[path];
      if (content === undefined) throw acp.RequestError.resourceNotFound(path);
      return { content };
    })
    .connect(acp.ndJsonStream(to, from));
  const { agent } = connection;
  if (initializes)
    await agent.request("initialize", {
      protocolVersion: acp.PROTOCOL_VERSION,
      clientCapabilities: capabilities,
    });
  return {
    agent,
    updates,
    asked,
    elicited,
    reports: [],
    said: (kind) =>
      updates
        .map(({ update }) =>
          update.sessionUpdate === kind && update.content.type === "text"
            ? update.content.text
            : "",
        )
        .join(""),
    async raw(line) {
      const writer = to.getWriter();
      await writer.write(new TextEncoder().encode(line));
      writer.releaseLock();
    },
    async [Symbol.asyncDispose]() {
      connection.close();
    },
  };
}

export async function newSession({ agent }: ScriptedEditor, cwd = folder): Promise<string> {
  return (await agent.request("session/new", { cwd, mcpServers: [] })).sessionId;
}

export async function prompt(
  { agent }: ScriptedEditor,
  sessionId: string,
  text: string,
): Promise<acp.StopReason> {
  const blocks: acp.ContentBlock[] = [{ type: "text", text }];
  return (await agent.request("session/prompt", { sessionId, prompt: blocks })).stopReason;
}
