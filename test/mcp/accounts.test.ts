/** One runtime, many users: a turn calls in the name of its own, by what its context says. */

import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { memoryKeys } from "../../src/store/encryption/index.ts";
import type { McpServers } from "../../src/mcp/index.ts";
import { OpenMcpServers } from "../../src/mcp/mcp-servers.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { endOf } from "../runtime/tools.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { loggedInAt, loginServer } from "./own-login-server.ts";
import { ownServer } from "./own-servers.ts";

it("each turn calls by the login of its user, and no log has a token", async () => {
  await using server = await loginServer();
  const mcp: McpServers = {
    own: {
      url: server.url,
      login: { redirectUrl: "http://127.0.0.1:9/callback", tokens: memoryKeys() },
      account: ({ runtimeContext }) => runtimeContext?.["user"]?.toString(),
    },
  };
  const around = {
    taken: new Set<string>(),
    onWarning: () => expect.unreachable(),
    clock: Date.now,
  };
  const servers = new OpenMcpServers(mcp, around);
  for (const user of ["ann", "bob"])
    await servers.call(
      { server: "own", tool: "login", name: "own__login", inputSchema: {} },
      {},
      {
        turn: { session: "s", runtimeContext: { user } },
        ask: async (question) => {
          const query = await loggedInAt("url" in question ? question.url : "");
          await servers.finishLogin(query, () => true);
          return { content: {} };
        },
      },
    );
  await servers.close();
  const model = scriptedModel([
    calling(call("own__whoami", "1")),
    "Done.",
    calling(call("own__whoami", "2")),
    "Done.",
    calling(call("own__whoami", "3")),
    "Done.",
  ]);
  await using open = await openSession({ model }, { mcp });
  for (const user of ["ann", "bob", undefined]) {
    const runtimeContext = user === undefined ? {} : { user };
    await (
      await open.session.send("Who am I?", { context: { runtimeContext } })
    ).result;
  }
  const shown = (text: string): object => ({ data: { output: { content: [{ text }] } } });
  expect(await endOf(open, "1")).toMatchObject(shown("user 1"));
  expect(await endOf(open, "2")).toMatchObject(shown("user 2"));
  expect(await endOf(open, "3")).toMatchObject({
    type: "tool.failed",
    data: { error: { details: { trouble: "not-run" } } },
  });
  const log = JSON.stringify(await open.events());
  expect(server.secrets.filter((secret) => log.includes(secret))).toEqual([]);
});

it("a call's reports are events of the log", async () => {
  await using folder = await temporaryFolder();
  const model = scriptedModel([calling(call("own__steps", "1")), "Done."]);
  await using open = await openSession({ model }, { mcp: { own: ownServer(folder) } });
  await (
    await open.session.send("Go.")
  ).result;
  const reports = (await open.events()).filter(({ type }) => type === "tool.progressed");
  expect(reports[0]).toMatchObject({ data: { output: { progress: 1, message: "step 1" } } });
});
