/** Each method of the protocol works, is refused, or is not offered, as the guide's table says. */

import { readFile } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { mcpServer } from "../../src/public/protocols.ts";
import { createRuntime } from "../../src/public/index.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { rows, type Outcome } from "./conformance.ts";
import { connected, revisions, wireTo, type Answer } from "./connected.ts";

const failed = z.object({ isError: z.literal(true) });

function outcomeOf({ result, error }: Answer): Outcome {
  if (error?.code === -32601) return "not offered";
  if (error !== undefined) return `refused (${error.code})`;
  return failed.safeParse(result).success ? "an error that the model reads" : "works";
}

describe.each(revisions)("revision %s", (revision) => {
  it.each(rows)("$what", async ({ method, params, outcome }) => {
    const model = scriptedModel(() => "Fine.");
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    await (
      await (await runtime.session("s-1")).send("Hello")
    ).result;
    const mcp = mcpServer(runtime);
    const ask = await wireTo(mcp, revision);
    expect(outcomeOf(await ask(method, params))).toBe(outcome[revision]);
    await mcp.close();
  });

  it("is spoken by the protocol's own client, which checks each answer", async () => {
    const model = scriptedModel(() => "Fine.");
    await using runtime = await createRuntime({ memory: true, agent: { model } });
    const mcp = mcpServer(runtime, { name: "clerk", description: "Answers." });
    const client = await connected(mcp, { revision });
    expect(client.getNegotiatedProtocolVersion()).toBe(revision);
    const { tools } = await client.listTools();
    expect(tools.map(({ name, description }) => [name, description])).toEqual([
      ["clerk", "Answers."],
    ]);
    await client.callTool({ name: "clerk", arguments: { message: "Hi" } });
    const { resources } = await client.listResources();
    const { contents } = await client.readResource({ uri: resources[0]?.uri ?? "" });
    expect(contents).toEqual([
      expect.objectContaining({ text: "## User\n\nHi\n\n## Agent\n\nFine." }),
    ]);
    await mcp.close();
  });
});

it("is the table of the guide", async () => {
  const guide = await readFile(new URL("../../docs/mcp-server.md", import.meta.url), "utf8");
  const table = rows.map(({ what, outcome }) => {
    const [newest, before] = revisions.map((revision) => outcome[revision]);
    return `| ${what} | ${newest} | ${before} |`;
  });
  expect(guide).toContain(table.join("\n"));
});
