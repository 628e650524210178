/** One request of a call, which its server may interrupt with questions to a person. */

import type { ElicitRequestParams, ElicitResult } from "@modelcontextprotocol/client";
import { describe, expect, it } from "vitest";
import { asking, type AnsweredQuestion, type AskedPerson } from "../../src/agent/index.ts";
import type { McpCall, McpConnection } from "../../src/mcp/mcp-connection.ts";
import { OpenCall } from "../../src/mcp/open-call.ts";

const result = { kind: "result", result: { content: [] } } as const;
const form = (message: string, properties: object = { day: { type: "string" } }) =>
  ({
    mode: "form",
    message,
    requestedSchema: { type: "object", properties },
  }) as ElicitRequestParams;
const nobody = { session: "s", onProgress: () => {} };
const attempt = (...answered: readonly AnsweredQuestion[]) => ({
  ...nobody,
  ask: asking(answered).ask,
});

/** A call of a server that does this with the person. */
function opened(serve: (ask: McpCall["onQuestion"]) => Promise<unknown>): OpenCall {
  const connection = {
    call: async ({ onQuestion }: McpCall) => {
      await serve(onQuestion);
      return result;
    },
  } as unknown as McpConnection;
  return new OpenCall("own", connection, "book", {}, attempt());
}

/** The question with which an attempt ends. */
async function questionOf(open: OpenCall, ...answered: readonly AnsweredQuestion[]) {
  const ended = await open.answer(attempt(...answered)).catch((by: unknown) => by);
  return (ended as AskedPerson).question;
}

describe("a call whose server asks a person", () => {
  it("is asked all questions, also two at once, and each gets its answer once", async () => {
    const said: ElicitResult[] = [];
    const open = opened(async (ask) => {
      said.push(...(await Promise.all([ask(form("A")), ask(form("B"))])), await ask(form("A")));
    });
    const answers: AnsweredQuestion[] = [];
    for (const day of ["Mon", "Tue", "Wed"]) {
      const question = await questionOf(open, ...answers);
      answers.push({ question, answer: { content: { day } } });
    }
    expect(answers.map(({ question }) => "message" in question && question.message)).toEqual([
      "A",
      "B",
      "A",
    ]);
    expect(await open.answer(attempt(...answers))).toBe(result);
    expect(said.map(({ content }) => content)).toEqual([
      { day: "Mon" },
      { day: "Tue" },
      { day: "Wed" },
    ]);
  });

  it("gets plain values only, and a form without patterns and other fields", async () => {
    const said: ElicitResult[] = [];
    const properties = { day: { type: "string", pattern: "^(a+)+$" } };
    const open = opened(async (ask) => said.push(await ask(form("A", properties))));
    const question = await questionOf(open);
    expect(question).toMatchObject({
      schema: { properties: { day: { type: "string" } }, additionalProperties: false },
    });
    expect(JSON.stringify(question)).not.toContain("pattern");
    const answer = { content: { day: "Mon", more: { a: 1 } } };
    expect(await open.answer(attempt({ question, answer }))).toBe(result);
    expect(said).toEqual([{ action: "accept", content: { day: "Mon" } }]);
  });

  it.each<[string, ElicitRequestParams]>([
    [
      "an address that is no web address",
      { mode: "url", message: "Go.", url: "javascript:alert(1)", elicitationId: "1" },
    ],
    ["a question that is too long", form("x".repeat(70_000))],
  ])("is told that nobody answers %s", async (_, question) => {
    const said: ElicitResult[] = [];
    const open = opened(async (ask) => said.push(await ask(question)));
    expect(await open.answer()).toBe(result);
    expect(said).toEqual([{ action: "cancel" }]);
  });

  it("is told so when nobody will answer any more", async () => {
    const said: ElicitResult[] = [];
    const open = opened(async (ask) => said.push(await ask(form("A"))));
    await questionOf(open);
    open.giveUp();
    expect(await open.answer()).toBe(result);
    expect(said).toEqual([{ action: "cancel" }]);
  });
});
