/** An MCP server over HTTP that is spoken by hand, as `own-server.ts` is over a pipe. */

import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";

const messageSchema = z.looseObject({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string(),
  params: z
    .looseObject({
      name: z.string().optional(),
      arguments: z.looseObject({ line: z.string().optional() }).optional(),
      requestId: z.union([z.number(), z.string()]).optional(),
      inputResponses: z.unknown().optional(),
      requestState: z.string().optional(),
    })
    .optional(),
});

type Message = z.infer<typeof messageSchema>;

const question = {
  resultType: "input_required",
  requestState: "state 1",
  inputRequests: {
    when: {
      method: "elicitation/create",
      params: {
        mode: "form",
        message: "When?",
        requestedSchema: { type: "object", properties: { day: { type: "string" } } },
      },
    },
  },
};

function booked({ inputResponses, requestState }: NonNullable<Message["params"]>): object {
  const text = JSON.stringify({ inputResponses, requestState });
  return { resultType: "complete", content: [{ type: "text", text }] };
}

export interface OwnHttpServer extends AsyncDisposable {
  readonly url: string;
  /** What came, in order: methods, the names of tools, `closed` for a call whose request was closed unanswered. */
  readonly noted: readonly string[];
  /** It forgets its session, as one that was started again: HTTP 404 until there is another one. */
  readonly forget: () => void;
  /** The headers that cancels came with. */
  readonly cancelHeaders: readonly IncomingMessage["headers"][];
}

export interface OwnHttpOptions {
  readonly version: "2025-11-25" | "2026-07-28";
  /** How calls are answered. */
  readonly as: "json" | "stream";
  /** Answers a call that is cancelled, as nobody has to. */
  readonly hasLastWord?: boolean;
}

/** Tools: `say`, `raw` (answers the line that it is given, `ID` in it replaced), `wait` (does not answer), `trip` (HTTP 500), `deny` (HTTP 403),
 * `book` (asks for a date by the rounds of the latest version, and remembers by its own state that it has). */
export async function ownHttpServer(options: OwnHttpOptions): Promise<OwnHttpServer> {
  const { version, as, hasLastWord = false } = options;
  const noted: string[] = [];
  let session = 1;
  const cancelHeaders: IncomingMessage["headers"][] = [];
  const waiting = new Map<unknown, ServerResponse>();
  const isModern = version === "2026-07-28";

  const call = ({ id, params }: Message, response: ServerResponse): void => {
    const { name = "", arguments: input = {} } = params ?? {};
    noted.push(name);
    response.once("close", () => {
      if (!response.writableFinished) noted.push("closed");
    });
    const said = { content: [{ type: "text", text: name }], resultType: "complete" };
    if (name === "wait") return void waiting.set(id, response);
    if (name === "trip") return void response.writeHead(500).end("tripped");
    if (name === "book") {
      const result = params?.inputResponses === undefined ? question : booked(params);
      return answer(response, JSON.stringify({ jsonrpc: "2.0", id, result }));
    }
    if (name === "deny") return void response.writeHead(403).end("denied");
    const line = input.line ?? JSON.stringify({ jsonrpc: "2.0", id: "ID", result: said });
    answer(response, line.replaceAll('"ID"', JSON.stringify(id)));
  };
  const answer = (response: ServerResponse, line: string): void => {
    const type = as === "json" ? "application/json" : "text/event-stream";
    response.writeHead(200, { "content-type": type });
    response.end(as === "json" ? line : `event: message\ndata: ${line}\n\n`);
  };
  const tools = ["say", "raw", "wait", "trip", "deny", "book"].map((name) => ({
    name,
    inputSchema: { type: "object" },
  }));
  const result = (message: Message): object | undefined => {
    const capabilities = { tools: {} };
    switch (message.method) {
      case "server/discover":
        return isModern ? { supportedVersions: [version], capabilities } : undefined;
      case "initialize":
        return {
          protocolVersion: version,
          capabilities,
          serverInfo: { name: "own", version: "1" },
        };
      case "tools/list":
        return { tools };
      default:
        return undefined;
    }
  };

  const server = createServer((request, response) => {
    void (async () => {
      if (request.method !== "POST") return void response.writeHead(405).end();
      const message = messageSchema.parse(JSON.parse(await text(request)));
      const { id, method, params } = message;
      const named = request.headers["mcp-session-id"];
      if (named !== undefined && named !== String(session)) {
        noted.push(`${method} 404`);
        return void response.writeHead(404).end("Session not found");
      }
      if (method === "tools/call") return call(message, response);
      noted.push(method);
      if (method === "notifications/cancelled") {
        cancelHeaders.push(request.headers);
        const open = waiting.get(params?.requestId);
        const content = [{ type: "text", text: "stopped half way" }];
        const last = { jsonrpc: "2.0", id: params?.requestId, result: { content } };
        if (hasLastWord && open !== undefined) answer(open, JSON.stringify(last));
      }
      if (id === undefined) return void response.writeHead(202).end();
      const found = result(message);
      const rest =
        found === undefined
          ? { error: { code: -32601, message: "Method not found" } }
          : { result: { resultType: "complete", ...found } };
      response.writeHead(200, {
        "content-type": "application/json",
        "mcp-session-id": String(session),
      });
      response.end(JSON.stringify({ jsonrpc: "2.0", id, ...rest }));
    })();
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = z.object({ port: z.number() }).parse(server.address());
  return {
    url: `http://127.0.0.1:${address.port}/mcp`,
    noted,
    cancelHeaders,
    forget: () => {
      session += 1;
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}
