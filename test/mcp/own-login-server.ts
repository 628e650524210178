/**
 * An MCP server over HTTP that wants a login (OAuth 2.1), with its authorization server on the same port: discovery,
 * registration, PKCE, and refresh tokens that are good once.
 */

import { hash, randomUUID } from "node:crypto";
import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { z } from "zod";

export interface LoginServer extends AsyncDisposable {
  readonly url: string;
  /** What came, in order: the paths of the authorization server, `tool of user` for calls, and `closed`. */
  readonly noted: readonly string[];
  /** All tokens that it has given out. */
  readonly secrets: readonly string[];
  /** Ends all access tokens, or refresh tokens too. */
  readonly expire: (what: "access" | "all") => void;
}

const messageSchema = z.looseObject({
  id: z.union([z.number(), z.string()]).optional(),
  method: z.string(),
  params: z.looseObject({ name: z.string().optional() }).optional(),
});

/** @param seconds - How long access tokens are said to be good. Tools: `whoami`, `pay` (wants the scope `pay`). */
export async function loginServer(seconds = 3600): Promise<LoginServer> {
  const noted: string[] = [];
  const secrets: string[] = [];
  const codes = new Map<string, { readonly challenge: string; readonly scope: string }>();
  const access = new Map<string, { readonly user: string; readonly scope: string }>();
  const refresh = new Map<string, { readonly user: string; readonly scope: string }>();
  let users = 0;

  const grant = (known: { readonly user: string; readonly scope: string }): object => {
    const [access_token, refresh_token] = [randomUUID(), randomUUID()];
    access.set(access_token, known);
    refresh.set(refresh_token, known);
    secrets.push(access_token, refresh_token);
    const { scope } = known;
    return { access_token, refresh_token, token_type: "Bearer", expires_in: seconds, scope };
  };

  const token = (form: URLSearchParams): object | undefined => {
    if (form.get("grant_type") === "refresh_token") {
      const used = form.get("refresh_token") ?? "";
      const known = refresh.get(used);
      refresh.delete(used);
      return known && grant(known);
    }
    const code = codes.get(form.get("code") ?? "");
    codes.delete(form.get("code") ?? "");
    const made = hash("sha256", form.get("code_verifier") ?? "", "base64url");
    if (code?.challenge !== made) return undefined;
    users += 1;
    return grant({ user: `user ${users}`, scope: code.scope });
  };

  const answerOf = (
    { method, params }: z.infer<typeof messageSchema>,
    user: string,
  ): object | undefined => {
    switch (method) {
      case "initialize":
        return {
          protocolVersion: "2025-11-25",
          capabilities: { tools: {} },
          serverInfo: { name: "own", version: "1" },
        };
      case "tools/list":
        return {
          tools: ["whoami", "pay"].map((name) => ({ name, inputSchema: { type: "object" } })),
        };
      case "tools/call":
        noted.push(`${params?.name} of ${user}`);
        return { content: [{ type: "text", text: user }] };
      default:
        return undefined;
    }
  };

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const origin = `http://${request.headers.host}`;
    const { pathname, searchParams: query } = new URL(request.url ?? "", origin);
    const json = (body: object, status = 200, headers = {}): void => {
      response.writeHead(status, { "content-type": "application/json", ...headers });
      response.end(JSON.stringify(body));
    };
    const body = await text(request);
    if (pathname !== "/mcp" && !pathname.startsWith("/.well-known")) noted.push(pathname);
    switch (pathname) {
      case "/.well-known/oauth-protected-resource/mcp":
        return json({ resource: `${origin}/mcp`, authorization_servers: [origin] });
      case "/.well-known/oauth-authorization-server":
        return json({
          issuer: origin,
          authorization_endpoint: `${origin}/authorize`,
          token_endpoint: `${origin}/token`,
          registration_endpoint: `${origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          authorization_response_iss_parameter_supported: true,
        });
      case "/register": {
        const asked = z.record(z.string(), z.unknown()).parse(JSON.parse(body));
        return json({ ...asked, client_id: randomUUID() }, 201);
      }
      case "/authorize": {
        const code = randomUUID();
        const challenge = query.get("code_challenge") ?? "";
        const scope = query.get("scope") ?? "";
        codes.set(code, { challenge, scope });
        const back = new URL(query.get("redirect_uri") ?? "");
        const said = { code, state: query.get("state") ?? "", iss: origin };
        for (const [name, value] of Object.entries(said)) back.searchParams.set(name, value);
        return void response.writeHead(302, { location: back.href }).end();
      }
      case "/token": {
        const granted = token(new URLSearchParams(body));
        return granted === undefined ? json({ error: "invalid_grant" }, 400) : json(granted);
      }
      case "/mcp": {
        const known = access.get(request.headers.authorization?.replace("Bearer ", "") ?? "");
        const about = `resource_metadata="${origin}/.well-known/oauth-protected-resource/mcp"`;
        if (known === undefined) return json({}, 401, { "www-authenticate": `Bearer ${about}` });
        if (request.method === "DELETE") noted.push("closed");
        if (request.method !== "POST") return void response.writeHead(405).end();
        const message = messageSchema.parse(JSON.parse(body));
        if (message.params?.name === "pay" && !known.scope.includes("pay")) {
          const refusal = `Bearer error="insufficient_scope", scope="pay", ${about}`;
          return json({}, 403, { "www-authenticate": refusal });
        }
        const { id } = message;
        if (id === undefined) return void response.writeHead(202).end();
        const result = answerOf(message, known.user);
        const error = { code: -32_601, message: "Method not found" };
        const answer = { jsonrpc: "2.0", id, ...(result === undefined ? { error } : { result }) };
        return json(answer, 200, { "mcp-session-id": "1" });
      }
      default:
        return void response.writeHead(404).end();
    }
  };

  const server = createServer((request, response) => void serve(request, response));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = z.object({ port: z.number() }).parse(server.address());
  return {
    url: `http://127.0.0.1:${port}/mcp`,
    noted,
    secrets,
    expire: (what) => {
      access.clear();
      if (what === "all") refresh.clear();
    },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

/** What a person does at the address: the query with which the callback is called. */
export async function loggedInAt(url: string): Promise<URLSearchParams> {
  const { headers } = await fetch(url, { redirect: "manual" });
  return new URL(headers.get("location") ?? "").searchParams;
}
