/** What no client of AG-UI sends: it is refused, records nothing, and reaches no other session. */

import { tool } from "ai";
import fc from "fast-check";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { createRuntime, type Runtime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { eventually } from "../support/eventually.ts";
import { patience, runs } from "../support/runs.ts";
import { call, calling } from "../support/script.ts";
import { pageOf, posted, user, type Served } from "./pages.ts";

vi.setConfig({ testTimeout: patience });

const inputSchema = z.object({});
const tools = {
  pay: tool({ inputSchema, execute: () => "paid" }),
  look: tool({ inputSchema, outputSchema: z.string() }),
};

/** Sessions of ann and of bob that wait for both an approval and an output. */
async function opened(): Promise<{ runtime: Runtime; served: (actor: string) => Served }> {
  const model = scriptedModel(() => calling(call("pay", "p"), call("look", "l")));
  const agent = { model, tools, toolApproval: { pay: "user-approval" } } as const;
  const runtime = await createRuntime({ memory: true, agent });
  const { fetch } = createServer(runtime, {
    token: false,
    authorize: ({ headers }) => {
      const actor = headers.get("x-actor") ?? "";
      return { actor, tenant: actor };
    },
  });
  const served = (actor: string): Served => ({ fetch, headers: { "x-actor": actor } });
  for (const actor of ["ann", "bob"]) await pageOf(served(actor)).say("Pay.");
  return { runtime, served };
}

const waiting = async ({ log }: Runtime): Promise<readonly number[]> =>
  await Promise.all(["ann/t", "bob/t"].map((session) => log.revision(session)));

it("whatever its fields are, a refused request records nothing", async () => {
  const { runtime, served } = await opened();
  const before = await waiting(runtime);
  const id = fc.constantFrom(
    "",
    "Pay.",
    "reply-1",
    "reply-1.0",
    "reply-1.3.l",
    "reply-1.3.l.result",
    "reply-99999999999999999999.1",
    "__proto__",
    "t~1~1~p~1",
    "ann/t",
  );
  const content = fc.oneof(
    fc.constant(null),
    fc.constant(7),
    fc.constant([]),
    fc.constant([{ type: "text" }]),
    fc.constant([{ type: "image", source: { type: "url", value: "javascript:1" } }]),
  );
  const role = fc.constantFrom("user", "assistant", "reasoning", "activity", "root");
  const fields = fc.record(
    {
      threadId: fc.constantFrom("t", "", "../t", "bob/t", 7),
      runId: fc.constantFrom("r", "", 7),
      messages: fc.oneof(fc.json(), fc.array(fc.record({ id, role, content }), { maxLength: 4 })),
      tools: fc.constantFrom([{ name: "constructor" }], [{}], "pay"),
      state: fc.constantFrom({ turn: 1e9 }, { turn: "1", ["__proto__"]: 1 }, [], "x"),
      resume: fc.array(
        fc.record({ interruptId: id, status: fc.constantFrom("resolved", "cancelled", "") }),
        { maxLength: 3 },
      ),
    },
    { requiredKeys: ["messages"] },
  );
  await fc.assert(
    fc.asyncProperty(fields, async (body) => {
      const answer = await posted(served("ann"), body);
      await answer.text();
      expect(answer.ok).toBe(false);
      expect(answer.status).toBeLessThan(500);
    }),
    { ...runs(150), endOnFailure: true },
  );
  expect(await waiting(runtime)).toEqual(before);
  await runtime.close();
});

it("an interrupt or a call of another tenant is none of its session", async () => {
  const { runtime, served } = await opened();
  const bobs = await (await runtime.session("bob/t")).view();
  const ids = [bobs.approvals[0]?.approvalId, bobs.outputRequests[0]?.requestId];
  const before = await waiting(runtime);
  for (const interruptId of ids) {
    const resume = [{ interruptId, status: "resolved", payload: { approved: true } }];
    const answer = await posted(served("ann"), { messages: [user("Pay.")], resume });
    expect(await answer.json()).toMatchObject({ code: "INVALID_INPUT" });
    const foreign = await posted(served("ann"), {
      threadId: "bob/t",
      resume,
      messages: [user("x")],
    });
    expect(await foreign.text()).not.toContain("paid");
  }
  expect(await waiting(runtime)).toEqual(before);
  await runtime.close();
});

it("a run is cut off when its client may no longer read it, and continues", async () => {
  const paused = gate();
  const model = scriptedModel([{ parts: [{ type: "text", deltas: ["Pub", paused, "SECRET"] }] }]);
  const runtime = await createRuntime({ memory: true, agent: { model } });
  let isAllowed = true;
  const server = createServer(runtime, {
    token: false,
    authorize: () => isAllowed && { actor: "ann" },
  });
  const page = pageOf(server);
  const running = page.say("Hi");
  await eventually(() => {
    expect(page.said).toContain("Pub");
  });
  isAllowed = false;
  await server.revoke();
  await running;
  paused.open();
  await (await runtime.session("t")).idle();
  expect(page.said).toEqual(["Hi", "Pub"]);
  await runtime.close();
});
