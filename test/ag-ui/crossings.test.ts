/** What AG-UI makes of odd outputs and answers, and of clients that may only read. */

import { tool } from "ai";
import { expect, it, vi } from "vitest";
import { z } from "zod";
import { scriptedModel } from "../../src/models/index.ts";
import { askPerson, createRuntime, type Runtime } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { call, calling } from "../support/script.ts";
import { pageOf, posted, user, type Served } from "./pages.ts";

vi.setConfig({ testTimeout: 15_000 });

const inputSchema = z.object({});
const serve = (runtime: Runtime, options: object = {}): Served => {
  const { fetch } = createServer(runtime, { token: false, ...options });
  return { fetch };
};
const look = tool({ inputSchema, outputSchema: z.unknown() });

it.each(["12345678901234567890", "1e400", "1.0", " 7", "0.1000"])(
  "gives the model the output %j of a tool of the client as it is",
  async (content) => {
    const model = scriptedModel([calling(call("look", "l")), "Seen."]);
    await using runtime = await createRuntime({ memory: true, agent: { model, tools: { look } } });
    const served = serve(runtime);
    const page = pageOf(served);
    await page.say("Look.");
    const toolCallId = page.messages.flatMap((one) =>
      one.role === "assistant" ? (one.toolCalls ?? []).map(({ id }) => id) : [],
    )[0];
    page.addMessage({ id: "out", role: "tool", toolCallId: toolCallId ?? "", content });
    await page.runAgent();
    expect(JSON.stringify(model.calls[1]?.prompt)).toContain(content);
  },
);

it.each([undefined, "two", 7, [1], null])("refuses %j as the values of a form", async (payload) => {
  const schema = {
    type: "object",
    properties: { seats: { type: "integer" } },
    required: ["seats"],
  };
  const book = tool({
    inputSchema,
    execute: (_, options) =>
      JSON.stringify(
        askPerson(options, { kind: "form", from: "B", message: "How many?", schema }).content,
      ),
  });
  const model = scriptedModel([calling(call("book", "b")), "Booked.", "More."]);
  await using runtime = await createRuntime({ memory: true, agent: { model, tools: { book } } });
  const served = serve(runtime);
  await pageOf(served).say("Book.");
  const [asked] = await runtime.approvals();
  const interruptId = asked?.kind === "approval" ? asked.approval.approvalId : "";
  const before = await runtime.log.revision("t");
  const answer = await posted(served, {
    messages: [user("Book."), user("And then?")],
    resume: [{ interruptId, status: "resolved", payload }],
  });
  expect(answer.status).toBe(400);
  expect(await runtime.log.revision("t")).toBe(before);
});

it("a client that may only read answers nothing and learns nothing by a run", async () => {
  const pay = tool({ inputSchema, execute: () => "paid" });
  const agent = {
    model: scriptedModel([calling(call("pay", "p")), "Paid."]),
    tools: { pay },
    toolApproval: { pay: "user-approval" },
  } as const;
  await using runtime = await createRuntime({ memory: true, agent });
  await pageOf(serve(runtime)).say("Pay.");
  const before = await runtime.log.revision("t");
  for (const may of [["read"], ["read", "send"]]) {
    const served = serve(runtime, {
      authorize: (_: Request, { action }: { action: string }) =>
        may.includes(action) ? { actor: "bob" } : undefined,
    });
    const reader = pageOf(served);
    await reader.connectAgent();
    const [asked] = reader.pendingInterrupts;
    const resume = [{ interruptId: asked?.id, status: "resolved", payload: { approved: true } }];
    for (const messages of [[user("Pay.")], [user("Pay."), user("x")], []]) {
      const answer = await posted(served, { messages, resume });
      expect(answer.status).toBeGreaterThan(399);
      await answer.text();
    }
    expect(await runtime.log.revision("t")).toBe(before);
  }
});
