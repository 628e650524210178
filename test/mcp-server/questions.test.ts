/** What a turn waits for is asked at the client that can show a form; another one is told, and the question waits. */

import type { ElicitRequest, ElicitResult } from "@modelcontextprotocol/client";
import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { askPerson, createRuntime, type Agent, type Runtime } from "../../src/public/index.ts";
import { mcpServer } from "../../src/public/protocols.ts";
import { scriptedModel } from "../../src/public/testing.ts";
import { call, connected, revisions, type Revision } from "./connected.ts";

const calls = (toolName: string): object => ({
  parts: [{ type: "tool-call", toolCallId: "a", toolName, input: { n: 1 } }],
});

function payer(): { readonly agent: Agent; readonly paid: number[] } {
  const paid: number[] = [];
  const inputSchema = z.object({ n: z.number() });
  const schema = {
    type: "object",
    properties: { seats: { type: "integer" } },
    required: ["seats"],
  };
  const tools = {
    pay: tool({ inputSchema, execute: ({ n }) => paid.push(n) }),
    book: tool({
      inputSchema,
      execute: (_, options) => {
        const asked = { kind: "form", from: "Bookings", message: "How many?", schema } as const;
        return paid.push(Number(askPerson(options, asked).content["seats"]));
      },
    }),
    visit: tool({
      inputSchema,
      execute: (_, options) => {
        const url = "https://example.com/consent";
        return askPerson(options, { kind: "address", from: "Bank", message: "Agree at", url }).by;
      },
    }),
  };
  const model = scriptedModel(({ prompt }) => {
    const last = prompt.at(-1);
    if (last?.role === "tool") return "Done.";
    const [part] = last?.role === "user" ? last.content : [];
    return calls(part?.type === "text" ? part.text : "");
  });
  return { agent: { model, tools, toolApproval: { pay: "user-approval" } }, paid };
}

type Asked = (
  params: ElicitRequest["params"],
  signal: AbortSignal,
) => ElicitResult | Promise<ElicitResult>;

interface Served extends AsyncDisposable {
  readonly runtime: Runtime;
  readonly paid: readonly number[];
  readonly client: (onQuestion?: Asked) => ReturnType<typeof connected>;
}

async function served(revision: Revision): Promise<Served> {
  const { agent, paid } = payer();
  const runtime = await createRuntime({ memory: true, agent });
  const mcp = mcpServer(runtime);
  return {
    runtime,
    paid,
    client: async (onQuestion) =>
      await connected(mcp, { revision, ...(onQuestion && { onQuestion }) }),
    [Symbol.asyncDispose]: async () => {
      await mcp.close();
      await runtime.close();
    },
  };
}

async function waitingIn(runtime: Runtime): Promise<string> {
  const [question] = await runtime.approvals();
  return question?.kind === "approval" ? question.approval.approvalId : "";
}

describe.each(revisions)("revision %s", (revision) => {
  it("asks for an approval, and runs the call", async () => {
    await using one = await served(revision);
    const asked: unknown[] = [];
    const client = await one.client((params) => {
      asked.push(params);
      return { action: "accept", content: {} };
    });
    expect(await call(client, { message: "pay" })).toMatchObject({
      status: "stop",
      reply: "Done.",
    });
    expect(asked).toEqual([
      expect.objectContaining({
        message: 'Allow pay?\n{\n  "n": 1\n}',
        requestedSchema: { type: "object", properties: {} },
      }),
    ]);
    expect(one.paid).toEqual([1]);
  });

  it("denies what is declined", async () => {
    await using one = await served(revision);
    const client = await one.client(() => ({ action: "decline" }));
    expect(await call(client, { message: "pay" })).toMatchObject({
      status: "stop",
      reply: "Done.",
    });
    expect(one.paid).toEqual([]);
  });

  it("leaves open what is closed without an answer, and says what the session waits for", async () => {
    await using one = await served(revision);
    const client = await one.client(() => ({ action: "cancel" }));
    const result = await call(client, { message: "pay" });
    expect(result).toMatchObject({
      status: "waiting",
      isError: false,
      waitsFor: ['a person who allows pay {"n":1}'],
    });
    const session = await one.runtime.session(result.session);
    await session.approve(await waitingIn(one.runtime));
    expect(await call(client, { session: session.id })).toMatchObject({ reply: "Done." });
    expect(one.paid).toEqual([1]);
  });

  it("tells a client that shows no forms what the session waits for, also when it asks again", async () => {
    await using one = await served(revision);
    const client = await one.client();
    const first = await call(client, { message: "pay" });
    expect(first).toMatchObject({ status: "waiting" });
    expect(first.text).toContain("waits for a person who allows pay");
    const again = await call(client, { message: "pay", session: first.session });
    expect(again).toEqual(first);
    expect(await one.runtime.approvals()).toHaveLength(1);
  });

  it("says what a turn before waits for, and continues with the message when that is answered", async () => {
    await using one = await served(revision);
    const client = await one.client();
    const { session } = await call(client, { message: "pay" });
    const behind = await call(client, { message: "book", session });
    expect(behind).toMatchObject({ session, status: "waiting" });
    expect(behind.text).toContain("allows pay");
    const live = await one.runtime.session(session);
    await live.deny(await waitingIn(one.runtime));
    const next = await call(client, { message: "book", session });
    expect(next.text).toContain("Bookings asks: How many?");
    expect((await live.view()).queue).toEqual([]);
  });

  it("asks for the values of a form, and again when they do not fit", async () => {
    await using one = await served(revision);
    const given = [{ seats: "many" }, { seats: 2 }];
    const client = await one.client((params) => {
      expect(params).toMatchObject({ message: "Bookings: How many?" });
      return { action: "accept", content: given.shift() ?? {} };
    });
    const refused = await call(client, { message: "book" });
    expect(refused).toMatchObject({ isError: true });
    expect(refused.text).toContain("does not fit the form");
    const [row] = await Array.fromAsync(one.runtime.sessions({}));
    const done = await call(client, { session: row?.session ?? "" });
    expect(done).toMatchObject({ reply: "Done." });
    expect(one.paid).toEqual([2]);
  });

  it("gives the address that a person is asked to visit, and asks by no form", async () => {
    await using one = await served(revision);
    const client = await one.client(() => expect.unreachable());
    const { waitsFor } = await call(client, { message: "visit" });
    expect(waitsFor).toEqual(["a person, whom Bank asks: Agree at https://example.com/consent"]);
  });

  it("continues when somebody else has answered", async () => {
    await using one = await served(revision);
    const elsewhere = async (): Promise<void> => {
      const [row] = await Array.fromAsync(one.runtime.sessions({}));
      const session = await one.runtime.session(row?.session);
      await session.deny(await waitingIn(one.runtime), { reason: "Too dear." });
    };
    const client = await one.client(async (_, signal) => {
      await elsewhere();
      // A client before 2026-07-28 is told; a newer one answers in the end.
      if (revision === "2025-11-25")
        await new Promise((resolve) => signal.addEventListener("abort", resolve));
      return { action: "accept", content: {} };
    });
    expect(await call(client, { message: "pay" })).toMatchObject({
      status: "stop",
      reply: "Done.",
    });
    expect(one.paid).toEqual([]);
  });
});

it("refuses a state that is not one of its own, and answers nothing by it", async () => {
  await using one = await served("2026-07-28");
  const { session } = await call(await one.client(), { message: "pay" });
  const client = await one.client(() => expect.unreachable());
  const approvalId = await waitingIn(one.runtime);
  const forged: object = {
    requestState: "no JSON",
    inputResponses: { [approvalId]: { action: "accept", content: {} } },
  };
  const answer = await client.callTool({ name: "agent", arguments: { message: "pay" }, ...forged });
  expect(answer).toMatchObject({ isError: true });
  expect(await waitingIn(one.runtime)).toBe(approvalId);
  expect(session).not.toBe("");
});
