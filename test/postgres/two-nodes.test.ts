/**
 * Several runtimes on one database, each with a log of its own, as on several machines: any of them takes any
 * command for any session, follows it, and continues what another left.
 */

import { Output, tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { verifySession } from "../../src/archive/verify/index.ts";
import type { Claim } from "../../src/events/index.ts";
import type { McpServers } from "../../src/mcp/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Agent, type Runtime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { memoryKeys } from "../../src/store/encryption/index.ts";
import { openPostgresLog } from "../../src/store/postgres/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { loggedInAt, loginServer } from "../mcp/own-login-server.ts";
import { eventually } from "../support/eventually.ts";
import { runSql } from "../support/run-sql.ts";
import { nothing } from "../runtime/tools.ts";
import { serverOfFile } from "./server-of-file.ts";

const { server, several, needs } = await serverOfFile();

interface Node extends AsyncDisposable {
  readonly runtime: Runtime;
}

let schemas = 0;
const schema = (): string => `n${schemas++}`;

async function node(
  name: string,
  agent: Agent,
  more: { readonly mcp?: McpServers } = {},
): Promise<Node> {
  const { connectionString = "" } = server ?? {};
  const log = await openPostgresLog({
    connectionString,
    schema: name,
    pollingMs: 20,
    leaseMs: 20_000,
  });
  const runtime = await createRuntime({ recovery: "continue", log, agent, ...more });
  return {
    runtime,
    async [Symbol.asyncDispose]() {
      await runtime.close();
      await log.close();
    },
  };
}

async function sql(text: string): Promise<void> {
  await runSql(server?.connectionString, text);
}

async function problems({ runtime }: Node, session: string): Promise<unknown> {
  return (await verifySession(runtime.log, session)).problems;
}

describe.skipIf(!several)(`several runtimes on one database${needs}`, () => {
  it("finish a login that the turn of another one waits for", async () => {
    const name = schema();
    await using wants = await loginServer();
    const tokens = memoryKeys();
    const redirectUrl = "http://127.0.0.1:9/callback";
    const mcp = { own: { url: wants.url, login: { redirectUrl, tokens } } };
    const model = scriptedModel([calling(call("own__login", "1")), "Done."]);
    await using one = await node(name, { model }, { mcp });
    await using two = await node(name, { model: scriptedModel([]) }, { mcp });
    const turn = await (await one.runtime.session("s")).send("Who am I?");
    await turn.untilRest();
    const [waiting] = await two.runtime.approvals();
    const asked = waiting?.kind === "approval" ? waiting.approval.question : undefined;
    if (asked?.kind !== "login-required") throw new Error("Nobody is asked to log in.");
    await two.runtime.finishLogin(await loggedInAt(asked.url));
    expect((await turn.result).text).toBe("Done.");
    const { toolCalls } = await (await two.runtime.session("s")).view();
    expect(toolCalls).toMatchObject([{ status: "succeeded", attempts: 2 }]);
    expect(await problems(two, "s")).toEqual([]);
  });

  it("open a session as it was asked for that another one is about to create, or died before it could", async () => {
    const name = schema();
    const agent: Agent = { model: scriptedModel([]) };
    await using first = await node(name, agent);
    await using second = await node(name, agent);
    const metadata = { userId: "u-1" };

    const claim = await first.runtime.log.ownership?.claim("died");
    const { ownership } = second.runtime.log;
    if (ownership === undefined) throw new Error("A log of a database says who runs a session.");
    const asked = vi.spyOn(ownership, "claim");
    const opening = second.runtime.session("died", { metadata });
    const askedAgain = eventually(() => {
      expect(asked.mock.calls.length).toBeGreaterThan(2);
    });
    await Promise.race([opening, askedAgain]);
    await claim?.release();
    expect((await (await opening).view()).summary.metadata).toEqual(metadata);

    const left = await first.runtime.log.ownership?.claim("left");
    await left?.release({ unfinished: true });
    await eventually(() => {
      expect(asked.mock.calls.flat()).toContain("left");
    });
    const found = await second.runtime.session("left", { metadata });
    expect((await found.view()).summary.metadata).toEqual(metadata);

    const both = [first, second].map(({ runtime }) => runtime.session("both", { metadata }));
    expect((await Promise.all(both)).map(({ id }) => id)).toEqual(["both", "both"]);
  });

  it("accept messages for a session that one of them runs, in order, and each gets its turn", async () => {
    const name = schema();
    const waits = gate();
    const model = scriptedModel([saying("Hel", waits, "lo."), "Second."]);
    await using one = await node(name, { model });
    await using two = await node(name, { model: scriptedModel([]) });
    const first = await (await one.runtime.session("s")).send("One");
    await waits.reached;
    const there = await two.runtime.session("s");
    const second = await there.send("Two", { id: "m2" });
    const third = await there.send("Three", { id: "m3" });
    expect(second.queued).toBe(true);
    const seen: string[] = [];
    const following = (async () => {
      for await (const event of second) seen.push(event.type);
    })();
    waits.open();
    expect((await first.result).text).toBe("Hello.");
    expect((await second.result).text).toBe("Second.");
    // Both waited, so one turn takes them up.
    expect((await third.result).turn).toBe((await second.result).turn);
    await following;
    expect(seen.at(0)).toBe("turn.started");
    expect(seen.at(-1)).toBe("turn.ended");
    // The same message again is the same turn.
    expect((await (await there.send("Two", { id: "m2" })).result).text).toBe("Second.");
    await expect(there.send("Other", { id: "m2" })).rejects.toMatchObject({
      code: "MESSAGE_CONFLICT",
    });
    const { history, queue } = await there.view();
    expect(history.filter(({ kind }) => kind === "user")).toHaveLength(3);
    expect(queue).toEqual([]);
    expect(await problems(one, "s")).toEqual([]);
  });

  it("cancel and answer on another node than the one that runs the turn", async () => {
    const name = schema();
    const ran: string[] = [];
    const act = tool({ inputSchema: nothing, execute: () => ran.push("act") });
    const waits = gate();
    const model = scriptedModel([calling(call("act", "c1")), "Done.", saying("Long", waits)]);
    const agent = { model, tools: { act }, toolApproval: () => "user-approval" as const };
    await using one = await node(name, agent);
    await using two = await node(name, agent);
    const turn = await (await one.runtime.session("s")).send("Go");
    await turn.untilRest();
    const there = await two.runtime.session("s");
    const { approvals } = await there.atRest();
    const [approval] = approvals;
    const id = approval?.approvalId ?? "";
    expect(await there.approve(id, { by: "ann" })).toMatchObject({ status: "recorded" });
    expect(await there.approve(id, { by: "ann" })).toMatchObject({ status: "already-answered" });
    await expect(there.approve("s~9~9~9~9")).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    expect((await turn.result).text).toBe("Done.");
    expect(ran).toEqual(["act"]);
    await there.send("More");
    await waits.reached;
    expect(await there.cancel({ reason: "enough" })).toMatchObject({
      was: "streaming",
      ended: "cancelled",
    });
    await there.setMetadata({ topic: "x" });
    expect((await there.view()).summary.metadata).toEqual({ topic: "x" });
    expect((await there.context()).due).toBe("wait");
    expect(await problems(two, "s")).toEqual([]);
  });

  it("fork a session that another one runs, also in the middle of a turn, and run a turn again", async () => {
    const name = schema();
    const waits = gate();
    const model = scriptedModel(["First.", saying("Half", waits)]);
    await using one = await node(name, { model });
    await using two = await node(name, { model: scriptedModel(() => "From two.") });
    const session = await one.runtime.session("s");
    const { position } = await (await session.send("One")).result.then(() => session.view());
    await session.send("Two");
    await waits.reached;
    const there = await two.runtime.session("s");
    const fork = await there.fork({ id: "f", position });
    expect((await (await fork.send("And?")).result).text).toBe("From two.");
    const { session: rerun, turn } = await there.rerun({ step: 1 });
    expect((await turn.result).text).toBe("From two.");
    // In the middle of the turn: it continues in its own session, and the fork continues its own copy.
    const middle = await there.fork();
    expect((await middle.atRest()).summary.status).toBe("idle");
    waits.open();
    await session.idle();
    expect((await there.view()).summary.status).toBe("idle");
    for (const id of ["s", "f", rerun.id, middle.id]) expect(await problems(two, id)).toEqual([]);
  });

  it("say what an edit and a regeneration replaced, and show an output as it comes, on another node", async () => {
    const name = schema();
    const output = Output.object({ schema: z.object({ a: z.string() }) });
    const parts = [{ type: "text", deltas: ['{"a":', '"x', 'y"}'] }] as const;
    await using one = await node(name, { output, model: scriptedModel(() => ({ parts })) });
    await using two = await node(name, { output, model: scriptedModel([]) });
    await (
      await (await one.runtime.session("s")).send("One", { id: "m" })
    ).result;
    const there = await two.runtime.session("s");
    const edited = await there.send("Other", { replaces: "m" });
    expect(await Array.fromAsync(edited.partialOutputs)).toEqual([{}, { a: "x" }, { a: "xy" }]);
    expect(await edited.replaced).toMatchObject({ turns: [1], to: 1 });
    const { fetch } = createServer(two.runtime, { token: false });
    const headers = { "content-type": "application/json", "idempotency-key": "k" };
    const init = { method: "POST", headers, body: "{}" };
    const ask = (): Promise<Response> =>
      fetch(new Request("http://localhost/api/sessions/s/regenerate", init));
    const answer: unknown = await (await ask()).json();
    expect(answer).toMatchObject({ messageId: edited.messageId, replaced: { turns: [2] } });
    expect(await (await ask()).json()).toEqual(answer);
    await there.idle();
    expect((await there.view()).summary.turns).toBe(3);
    expect(await problems(two, "s")).toEqual([]);
  });

  it("refuse what cannot be sent, and say so", async () => {
    const name = schema();
    const waits = gate();
    await using one = await node(name, { model: scriptedModel([saying("a", waits)]) });
    await using two = await node(name, { model: scriptedModel([]) });
    await (await one.runtime.session("s")).send("Go");
    await waits.reached;
    const there = await two.runtime.session("s");
    await expect(
      there.send("x", { context: { runtimeContext: { now: () => 1 } } }),
    ).rejects.toMatchObject({
      code: "SESSION_ELSEWHERE",
    });
    await there.cancel();
  });

  it("delete a session that another one runs there, unless a turn runs", async () => {
    const name = schema();
    const waits = gate();
    await using one = await node(name, { model: scriptedModel([saying("a", waits)]) });
    await using two = await node(name, { model: scriptedModel([]) });
    const session = await one.runtime.session("s");
    await session.send("Go");
    await waits.reached;
    await expect(two.runtime.delete("s")).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
    await session.cancel();
    await session.idle();
    // The other node cannot take it, and answer that it was deleted before, until the first one has answered.
    const { inbox, ownership } = one.runtime.log;
    if (inbox === undefined || ownership === undefined) throw new Error("a log of one process");
    const happened: string[] = [];
    const [answer, claim] = [inbox.answer.bind(inbox), ownership.claim.bind(ownership)];
    inbox.answer = async (...given) => {
      happened.push("answered");
      await answer(...given);
    };
    ownership.claim = async (name) => {
      const taken = await claim(name);
      happened.push("taken");
      const release: Claim["release"] = async (how) => {
        happened.push("given back");
        await taken?.release(how);
      };
      return taken && { ...taken, release };
    };
    expect(await two.runtime.delete("s")).toMatchObject({ session: "s", repeated: false });
    expect(happened.slice(0, 3)).toEqual(["taken", "answered", "given back"]);
    await expect(session.send("Again")).rejects.toMatchObject({ code: "SESSION_DELETED" });
    expect(await two.runtime.delete("s")).toMatchObject({ repeated: true });
  });

  it("continue a turn elsewhere when its process closes, and when it falls silent; who waits gets the result", async () => {
    const name = schema();
    const waits = gate();
    const cut = (): Agent => ({ model: scriptedModel([saying("Half", waits, " lost")]) });
    const one = await node(name, cut());
    await using two = await node(name, { model: scriptedModel(() => "Whole.") });
    const closed = await (await one.runtime.session("a")).send("Go", { id: "m" });
    closed.result.catch(() => {});
    await waits.reached;
    const waiting = (await (await two.runtime.session("a")).turn("m")).result;
    await one[Symbol.asyncDispose]();
    expect((await waiting).text).toContain("Whole.");
    const silent = await node(name, cut());
    const again = gate();
    await using third = await node(name, {
      model: scriptedModel([saying("Half", again, " lost")]),
    });
    const lost = await (await third.runtime.session("b")).send("Go", { id: "m" });
    await again.reached;
    await sql(
      `DELETE FROM ${name}.nodes WHERE id = (SELECT owner FROM ${name}.sessions WHERE id = 'b')`,
    );
    await silent[Symbol.asyncDispose]();
    // Its own caller follows the process that took the session.
    expect((await lost.result).finishReason).toBe("stop");
    expect(await problems(two, "a")).toEqual([]);
    expect(await problems(two, "b")).toEqual([]);
  });

  it("execute a command that was left by a process that died before it could", async () => {
    const name = schema();
    await using one = await node(name, { model: scriptedModel(() => "Fine.") });
    const session = await one.runtime.session("s");
    await (
      await session.send("One")
    ).result;
    await sql(
      `INSERT INTO ${name}.commands (session, id, name, args) VALUES ('s', 'c', 'send', '["Two", {"id": "m2"}]'), ('t', 'c', 'send', '["New", {"id": "m"}]')`,
    );
    await expect
      .poll(async () => (await session.view()).history.filter(({ kind }) => kind === "user").length)
      .toBe(2);
    await expect.poll(() => one.runtime.log.revision("t")).toBeGreaterThan(3);
    expect((await (await (await one.runtime.session("t")).turn("m")).result).text).toBe("Fine.");
  });

  it("leave a session to the processes whose release has its agent, and send it their commands", async () => {
    const name = schema();
    const agents = (...names: readonly string[]): Record<string, Agent> =>
      Object.fromEntries(names.map((one) => [one, { model: scriptedModel(() => `By ${one}.`) }]));
    const open = async (...names: readonly string[]): Promise<Node> => {
      const { connectionString = "" } = server ?? {};
      const log = await openPostgresLog({ connectionString, schema: name, pollingMs: 20 });
      const runtime = await createRuntime({ log, agents: agents(...names), idleAfterMs: 10 });
      return {
        runtime,
        async [Symbol.asyncDispose]() {
          await runtime.close();
          await log.close();
        },
      };
    };
    await using older = await open("first");
    const newer = await open("first", "second");
    const begun = await newer.runtime.session("s", { agent: "second" });
    await (
      await begun.send("One")
    ).result;
    // Nobody runs it now, so the older release tries, and leaves it.
    await newer[Symbol.asyncDispose]();
    const session = await older.runtime.session("s");
    const sent = session.send("Two", { id: "m" });
    await using again = await open("first", "second");
    expect((await (await sent).result).text).toBe("By second.");
    expect(await problems(again, "s")).toEqual([]);
  });
});
