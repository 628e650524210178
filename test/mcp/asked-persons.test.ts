/** A call at an MCP server that needs a person: its turn waits as for an approval, and continues in any process. */

import { describe, expect, it } from "vitest";
import { createRuntime, type Agent, type EventLog, type Runtime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { memoryKeys } from "../../src/store/encryption/index.ts";
import { sharedLog } from "../crossings/shared-log.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { allow } from "../support/answering.ts";
import { call, calling } from "../support/script.ts";
import { openSession } from "../support/with-runtime.ts";
import { loggedInAt, loginServer, type LoginServer } from "./own-login-server.ts";
import { begunIn, ownServer } from "./own-servers.ts";

/** Calls the tools one after another, each once. */
function agentOf(...tools: readonly string[]): Agent {
  return {
    model: scriptedModel(({ prompt }) => {
      const made = prompt.filter(({ role }) => role === "tool").length;
      const next = tools[made];
      return next === undefined ? "Done." : calling(call(next, `c${made}`));
    }),
  };
}

/** A process of a program whose users log in at the server. */
async function processOf(
  { url }: LoginServer,
  log: EventLog,
  tokens = memoryKeys(),
): Promise<Runtime> {
  return await createRuntime({
    log,
    agent: agentOf("own__login"),
    mcp: { own: { url, login: { redirectUrl: "http://127.0.0.1:9/api/logins/callback", tokens } } },
    recovery: "continue",
  });
}

/** Where the person is asked to log in. */
async function addressIn(runtime: Runtime): Promise<string> {
  const [waiting] = await runtime.approvals();
  const asked = waiting?.kind === "approval" ? waiting.approval.question : undefined;
  if (asked?.kind !== "login-required") throw new Error("Nobody is asked to log in.");
  return asked.url;
}

describe("a login that a call needs", () => {
  it("is finished by the server's callback, for who may approve, and the turn continues", async () => {
    await using server = await loginServer();
    await using log = await openMemoryLog();
    await using runtime = await processOf(server, log);
    const session = await runtime.session("s", { metadata: { user: "ann" } });
    const turn = await session.send("Who am I?");
    expect(await turn.untilRest()).toMatchObject({
      kind: "waiting",
      approvals: [{ toolName: "own__login", question: { kind: "login-required", from: "own" } }],
    });
    const { fetch } = createServer(runtime, {
      token: false,
      authorize: ({ headers }) => {
        const user = headers.get("x-user");
        return user === null ? null : { actor: user, where: { user } };
      },
    });
    const query = await loggedInAt(await addressIn(runtime));
    // As a browser comes from another site, whose redirect it follows.
    const navigation = {
      "sec-fetch-site": "cross-site",
      "sec-fetch-mode": "navigate",
    };
    const callback = async (user: string, dest = "document", method = "GET"): Promise<Response> =>
      await fetch(
        new Request(`http://127.0.0.1/api/logins/callback?${query.toString()}`, {
          headers: { "x-user": user, ...navigation, "sec-fetch-dest": dest },
          method,
        }),
      );
    // A picture of another site, and what only looks at an address, log nobody in.
    expect((await callback("ann", "image")).status).toBe(403);
    await callback("ann", "document", "HEAD");
    // Who lures another person to log in gets nothing of it.
    expect((await callback("bob")).status).toBe(403);
    expect(await runtime.approvals()).toHaveLength(1);
    const answer = await callback("ann");
    expect([answer.status, await answer.text()]).toEqual([
      200,
      "You are logged in at own. You can close this window.\n",
    ]);
    expect(await turn.result).toMatchObject({ text: "Done." });
    const { toolCalls } = await session.view();
    expect(toolCalls).toMatchObject([{ status: "succeeded", attempts: 2 }]);
    const text = JSON.stringify(await Array.fromAsync(log.read("s")));
    expect(server.secrets.filter((secret) => text.includes(secret))).toEqual([]);
  });

  it("is finished by another process that shares the tokens", async () => {
    await using server = await loginServer();
    await using store = await openMemoryLog();
    const open = sharedLog(store);
    const tokens = memoryKeys();
    await using runs = await processOf(server, open(), tokens);
    await using other = await processOf(server, open(), tokens);
    const turn = await (await runs.session("s")).send("Who am I?");
    await turn.untilRest();
    await other.finishLogin(await loggedInAt(await addressIn(other)));
    expect(await turn.result).toMatchObject({ text: "Done." });
  });

  it("is finished after the process that asked has died, and in a fork of the session", async () => {
    await using server = await loginServer();
    await using log = await openMemoryLog();
    const tokens = memoryKeys();
    const first = await processOf(server, log, tokens);
    await (await (await first.session("s")).send("Who am I?", { id: "m" })).untilRest();
    await first.close();
    await using second = await processOf(server, log, tokens);
    const origin = await second.session("s");
    const fork = await origin.fork({ id: "f" });
    expect(await second.approvals()).toHaveLength(2);
    await second.finishLogin(await loggedInAt(await addressIn(second)));
    expect(await (await origin.turn("m")).result).toMatchObject({ text: "Done." });
    expect((await fork.atRest()).summary.lastEnd).toBe("stop");
  });

  it("asks again if somebody says that it is done, and it is not", async () => {
    await using server = await loginServer();
    await using log = await openMemoryLog();
    await using runtime = await processOf(server, log);
    const session = await runtime.session("s");
    await (await session.send("Who am I?")).untilRest();
    await allow(session, "c0");
    const { approvals } = await session.atRest();
    expect(approvals).toMatchObject([{ status: "approved" }, { status: "waiting" }]);
    await session.cancel();
  });
});

describe("a question in the middle of a call", () => {
  it("keeps the server's request open until the person has answered it", async () => {
    await using folder = await temporaryFolder();
    const mcp = { own: ownServer(folder) };
    await using open = await openSession(agentOf("own__ask"), { mcp });
    const turn = await open.session.send("Ask me.");
    await turn.untilRest();
    await allow(open.session, "c0", { content: { day: "Monday" } });
    await turn.result;
    expect(begunIn(folder)).toEqual(["ask"]);
    const end = (await open.events()).find(({ type }) => type === "tool.succeeded");
    const said = JSON.stringify({ action: "accept", content: { day: "Monday" } });
    expect(end?.data).toMatchObject({ output: { content: [{ text: said }] } });
  });
});
