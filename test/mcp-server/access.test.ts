/** Over HTTP: the accounts, tenants and audiences of the server hold for MCP clients, and its limits. */

import { Client, StreamableHTTPClientTransport } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { createRuntime, type Agent, type Runtime } from "../../src/public/index.ts";
import { mcpServer } from "../../src/public/protocols.ts";
import { gate, scriptedModel } from "../../src/public/testing.ts";
import { eventually } from "../support/eventually.ts";
import { call, revisions, type Revision } from "./connected.ts";
import type { McpServerOptions } from "../../src/mcp-server/index.ts";

const accounts: McpServerOptions = {
  authorize: (request) => {
    const [actor = "", tenant = ""] = (request.headers.get("x-login") ?? "").split("@");
    return tenant === "" ? undefined : { actor, tenant, where: { user: actor } };
  },
};

interface Served extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly client: (login?: string, headers?: Readonly<Record<string, string>>) => Promise<Client>;
}

async function served(
  agent: Agent,
  revision: Revision,
  options: McpServerOptions = accounts,
): Promise<Served> {
  const runtime = await createRuntime({ memory: true, agent });
  const mcp = mcpServer(runtime, options);
  const clients: Client[] = [];
  return {
    runtime,
    client: async (login = "", headers = {}) => {
      const transport = new StreamableHTTPClientTransport(new URL("http://localhost/mcp"), {
        fetch: async (url, init) => await mcp.fetch(new Request(url, init)),
        requestInit: { headers: { "x-login": login, ...headers } },
      });
      const client = new Client(
        { name: "test", version: "1.0.0" },
        {
          versionNegotiation: { mode: revision === "2025-11-25" ? "legacy" : { pin: revision } },
          capabilities: { elicitation: { form: {} } },
        },
      );
      client.setRequestHandler("elicitation/create", () => ({ action: "accept", content: {} }));
      await client.connect(transport);
      clients.push(client);
      return client;
    },
    [Symbol.asyncDispose]: async () => {
      for (const client of clients) await client.close();
      await mcp.close();
      await runtime.close();
    },
  };
}

describe.each(revisions)("revision %s", (revision) => {
  it("lets in who is logged in, in their own name", async () => {
    await using one = await served({ model: scriptedModel(["Hello."]) }, revision);
    await expect(one.client()).rejects.toThrow(/401|logged in/i);
    const { session } = await call(await one.client("ann@acme"), { message: "Hi" });
    const events = await Array.fromAsync(one.runtime.log.read(`acme/${session}`));
    const sent = events.flatMap(({ type, data }) => (type === "message.queued" ? [data.by] : []));
    expect(sent).toEqual(["ann"]);
    const where = { tenant: "acme", user: "ann" };
    expect(await Array.fromAsync(one.runtime.sessions({ where }))).toHaveLength(1);
  });

  it("hides sessions of other tenants and users, as if they did not exist", async () => {
    await using one = await served({ model: scriptedModel(["Secret.", "Hello."]) }, revision);
    const ann = await one.client("ann@acme");
    const { session } = await call(ann, { message: "Hi" });
    const uri = `turnlog://sessions/${session}`;
    expect((await ann.listResources()).resources.map((one) => one.uri)).toEqual([uri]);
    for (const login of ["eve@acme", "eve@bolt"]) {
      const eve = await one.client(login);
      for (const id of [session, `acme/${session}`]) {
        const [known, absent] = [id, "absent"].map(async (name) =>
          (await call(eve, { session: name })).text.replaceAll(name, "…"),
        );
        expect(await known).toBe(await absent);
        const read = eve.readResource({ uri: `turnlog://sessions/${encodeURIComponent(id)}` });
        await expect(read).rejects.toMatchObject({ code: -32602 });
        expect((await call(eve, { message: "Go on", session: id })).isError).toBe(true);
      }
      expect((await eve.listResources()).resources).toEqual([]);
    }
    expect((await call(ann, { session })).reply).toBe("Secret.");
  });

  it("tells a user nothing of a provider's words", async () => {
    const model = scriptedModel([{ failure: new Error("429: quota of key sk-4711") }]);
    await using one = await served({ model, maxRetries: 0 }, revision);
    const { text, isError } = await call(await one.client("ann@acme"), { message: "Hi" });
    expect(isError).toBe(true);
    expect(text).toMatch(/^An error occurred\. Reference: acme\//);
    expect(text).not.toContain("sk-4711");
  });

  it("refuses another host, and pages of other sites", async () => {
    await using one = await served({ model: scriptedModel([]) }, revision, {});
    await expect(one.client("", { host: "evil.example" })).rejects.toThrow("403");
    await expect(one.client("", { origin: "https://evil.example" })).rejects.toThrow("403");
    expect((await (await one.client()).listTools()).tools).toHaveLength(1);
  });

  it("refuses a message that is too long, and nothing of it is stored", async () => {
    const options = { ...accounts, limits: { bodyBytes: 1000 } };
    await using one = await served({ model: scriptedModel([]) }, revision, options);
    const message = "x".repeat(2000);
    const { isError, text } = await call(await one.client("ann@acme"), { message });
    expect([isError, text]).toEqual([true, expect.stringContaining("1000 bytes")]);
    expect(await Array.fromAsync(one.runtime.sessions({ empty: false }))).toEqual([]);
  });
});

it("cancels the turn of a request that its client closes, since 2026-07-28", async () => {
  const held = gate();
  const model = scriptedModel(["Ready.", { parts: [{ type: "text", deltas: ["One ", held] }] }]);
  await using one = await served({ model }, "2026-07-28");
  const client = await one.client("ann@acme");
  const { session } = await call(client, { message: "Hi" });
  const left = new AbortController();
  const lost = call(client, { message: "Go", session }, { signal: left.signal });
  await held.reached;
  left.abort();
  await expect(lost).rejects.toThrow("aborted");
  await eventually(async () =>
    expect(await call(client, { session })).toMatchObject({ status: "cancelled" }),
  );
});
