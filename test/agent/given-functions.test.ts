/** What the functions and questions of a program may answer, and what becomes of a wrong answer. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import {
  agentTool,
  asking,
  type Agent,
  guardedContext,
  interruptedPolicy,
  prepareAgent,
  stepChanges,
} from "../../src/agent/index.ts";
import { approvalStatus } from "../../src/agent/tool-approval.ts";
import { DEFAULT_MAX_DEPTH } from "../../src/agent/agent-tool.ts";
import type { CallQuestion } from "../../src/events/index.ts";
import { scriptedModel } from "../../src/models/index.ts";

const model = scriptedModel([]);
const look = tool({ inputSchema: z.object({}), execute: () => "seen" });

describe("questions of a call", () => {
  const form: CallQuestion = {
    kind: "form",
    from: "Shop",
    message: "How many?",
    schema: { type: "object", properties: { count: { type: "integer" } } },
  };
  const login = (url: string): CallQuestion => ({ kind: "login-required", from: "Shop", url });

  it("that are equal get their answers in order, each once", () => {
    const answered = [1, 2].map((count) => ({ question: form, answer: { content: { count } } }));
    const { ask } = asking(answered);
    expect([ask(form), ask(form)].map(({ content }) => content)).toEqual([
      { count: 1 },
      { count: 2 },
    ]);
    expect(() => ask(form)).toThrow(/waits for a person/);
  });

  it("for a login are the same at whatever address, and others are not", () => {
    const answer = { content: {} };
    const answered = [{ question: login("https://shop.example/1"), answer }];
    expect(asking(answered).ask(login("https://shop.example/2"))).toBe(answer);
    expect(() => asking(answered).ask(form)).toThrow(/waits for a person/);
  });

  it("need a schema by which the answer can be checked", () => {
    const schema = { type: "object", properties: { a: { $ref: "https://elsewhere.example/a" } } };
    expect(() => asking([]).ask({ ...form, schema })).toThrow(
      expect.objectContaining({ code: "INVALID_INPUT" }),
    );
  });
});

describe("an answer of `prepareStep`", () => {
  const changed = async (changes: object, more: object = {}): Promise<unknown> => {
    const agent = { model, tools: { look }, prepareStep: () => changes, ...more } as Agent;
    const { description } = await prepareAgent(agent);
    const mcp = "servers" in more ? [{ name: "own" }] : undefined;
    const prepared = { agent, description: { ...description, ...(mcp && { mcp }) } };
    return await stepChanges(prepared as never, {} as never).catch((error: unknown) => error);
  };

  it.each([
    ["activeTools", { activeTools: ["lok"] }],
    ["toolOrder", { toolOrder: ["lok"] }],
    ["toolChoice", { toolChoice: { type: "tool", toolName: "lok" } }],
  ])("names only tools that there are: %s", async (option, changes) => {
    expect(await changed(changes)).toMatchObject({
      code: "CALLBACK_FAILED",
      message: expect.stringContaining(`\`${option}\` names the tool lok`) as unknown,
    });
  });

  it("may name a tool of a server that is away, where there are servers", async () => {
    const changes = { activeTools: ["own__find"] };
    expect(await changed(changes)).toMatchObject({ code: "CALLBACK_FAILED" });
    expect(await changed(changes, { servers: true })).toEqual(changes);
  });
});

describe("a tool", () => {
  const helper = agentTool({ agent: { model }, description: "Helps." });
  const agent: Agent = { model, tools: { look, helper } };

  it("is reported after a crash, unless it is repeatable; a sub-agent is", () => {
    expect(interruptedPolicy(agent, "look")).toBe("report");
    expect(interruptedPolicy(agent, "helper")).toBe("retry");
    const idempotent = { ...agent, toolPolicies: { look: { idempotent: true } } };
    expect(interruptedPolicy(idempotent, "look")).toBe("retry");
    const asked = { ...agent, toolPolicies: { look: { onInterrupted: "ask" } } } as const;
    expect(interruptedPolicy(asked, "look")).toBe("ask");
  });

  it("runs without an approval where `toolApproval` answers nothing, and nothing else stands for a status", () => {
    expect([undefined, null].map((given) => approvalStatus(given).type)).toEqual([
      "not-applicable",
      "not-applicable",
    ]);
    expect(approvalStatus("user-approval")).toEqual({ type: "user-approval" });
    expect(() => approvalStatus(true)).toThrow(/must return/);
  });

  it("of an agent has a description, and three agents may run within each other", () => {
    expect(() => agentTool({ agent: { model }, description: "" })).toThrow(/description/);
    expect(DEFAULT_MAX_DEPTH).toBe(3);
  });
});

describe("functions of the context", () => {
  const estimator = (tokens: number) => ({ name: "own", exact: false, text: () => tokens });

  it.each([Number.NaN, -1, Number.POSITIVE_INFINITY])("count no %s tokens", (tokens) => {
    const guarded = guardedContext({ estimator: estimator(tokens) }).estimator;
    expect(() => guarded?.text("Hi")).toThrow(expect.objectContaining({ code: "CALLBACK_FAILED" }));
  });

  it("say whether a compaction is due by true or false, and keep what else they are", () => {
    const plan = () => undefined;
    const when = (due: () => unknown) => {
      const compact = { when: { name: "own", atLimit: true, due }, how: { name: "own", plan } };
      const guarded = guardedContext({ compact } as never).compact;
      return guarded === undefined || guarded === false ? undefined : guarded.when;
    };
    expect(when(() => true)).toMatchObject({ name: "own", atLimit: true });
    expect(when(() => true)?.due?.({} as never)).toBe(true);
    expect(() => when(() => "yes")?.due?.({} as never)).toThrow(/not true or false/);
  });

  it("are named by the first guard that saw them fail", () => {
    const failing = {
      name: "own",
      exact: false,
      text: () => {
        throw new Error("Slip.");
      },
    };
    const once = guardedContext({ estimator: failing });
    const twice = guardedContext(once).estimator;
    expect(() => twice?.text("Hi")).toThrow(/^`context\.estimator\.text` threw: Slip\. [^`]*$/);
  });
});
