/** Clients of an MCP server in this process: the protocol's own client, and its wire without one. */

import {
  Client,
  InMemoryTransport,
  type ClientCapabilities,
  type ElicitRequest,
  type ElicitResult,
} from "@modelcontextprotocol/client";
import { z } from "zod";
import type { mcpServer } from "../../src/public/protocols.ts";

export type Mcp = Pick<ReturnType<typeof mcpServer>, "connect">;

/** The newest revision of the protocol, and the newest of those that begin with a handshake. */
export const revisions = ["2026-07-28", "2025-11-25"] as const;
export type Revision = (typeof revisions)[number];

interface ClientOptions {
  readonly revision?: Revision;
  readonly capabilities?: ClientCapabilities;
  readonly onQuestion?: (
    params: ElicitRequest["params"],
    signal: AbortSignal,
  ) => ElicitResult | Promise<ElicitResult>;
}

export async function connected(
  mcp: Mcp,
  { revision = "2026-07-28", onQuestion, capabilities }: ClientOptions = {},
): Promise<Client> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  void mcp.connect(far);
  const asks = onQuestion === undefined ? {} : { elicitation: { form: {} } };
  const client = new Client(
    { name: "test", version: "1.0.0" },
    {
      capabilities: capabilities ?? asks,
      versionNegotiation: { mode: revision === "2025-11-25" ? "legacy" : { pin: revision } },
    },
  );
  if (onQuestion !== undefined)
    client.setRequestHandler("elicitation/create", async ({ params }, { mcpReq }) =>
      onQuestion(params, mcpReq.signal),
    );
  await client.connect(near);
  return client;
}

const called = z.object({
  content: z.array(z.object({ text: z.string() })),
  structuredContent: z
    .object({
      session: z.string(),
      status: z.string(),
      reply: z.string(),
      output: z.unknown(),
      waitsFor: z.array(z.string()).optional(),
    })
    .partial()
    .optional(),
  isError: z.boolean().optional(),
});

interface Called {
  readonly session: string;
  readonly status: string | undefined;
  readonly reply: string | undefined;
  readonly output: unknown;
  readonly waitsFor: readonly string[] | undefined;
  readonly text: string;
  readonly isError: boolean;
}

type CallOptions = Parameters<Client["callTool"]>[1] & { readonly tool?: string };

/** Calls the tool, and reads its result. */
export async function call(
  client: Client,
  input: { readonly message?: string; readonly session?: string },
  { tool = "agent", ...options }: CallOptions = {},
): Promise<Called> {
  const result = await client.callTool({ name: tool, arguments: { ...input } }, options);
  const { content, structuredContent = {}, isError = false } = called.parse(result);
  const { session = "", status, reply, output, waitsFor } = structuredContent;
  const text = content.map((one) => one.text).join("\n");
  return { session, status, reply, output, waitsFor, text, isError };
}

const answer = z.looseObject({
  id: z.number(),
  result: z.unknown().optional(),
  error: z.object({ code: z.number(), message: z.string() }).optional(),
});
export type Answer = z.infer<typeof answer>;

/** The wire of a revision, where a client may ask for anything. */
export async function wireTo(
  mcp: Mcp,
  revision: Revision,
): Promise<(method: string, params?: object) => Promise<Answer>> {
  const [near, far] = InMemoryTransport.createLinkedPair();
  void mcp.connect(far);
  const waiting = new Map<number, (given: Answer) => void>();
  const onmessage = (message: unknown): void => {
    const read = answer.safeParse(message).data;
    if (read !== undefined) waiting.get(read.id)?.(read);
  };
  Object.assign(near, { onmessage });
  await near.start();
  const isOld = revision === "2025-11-25";
  const envelope = {
    "io.modelcontextprotocol/protocolVersion": revision,
    "io.modelcontextprotocol/clientInfo": { name: "test", version: "1.0.0" },
    "io.modelcontextprotocol/clientCapabilities": {},
  };
  let last = 0;
  const ask = async (method: string, params: object = {}): Promise<Answer> => {
    const { promise, resolve } = Promise.withResolvers<Answer>();
    waiting.set(++last, resolve);
    const all = isOld ? params : { ...params, _meta: envelope };
    await near.send({ jsonrpc: "2.0", id: last, method, params: { ...all } });
    return await promise;
  };
  if (isOld) {
    const client = { capabilities: {}, clientInfo: { name: "test", version: "1.0.0" } };
    await ask("initialize", { protocolVersion: revision, ...client });
    await near.send({ jsonrpc: "2.0", method: "notifications/initialized" });
  }
  return ask;
}
