/** Tools with schemas that providers refuse, as the real clients post them. */

import { dynamicTool, jsonSchema } from "ai";
import { describe, expect, it, vi } from "vitest";
import { patience } from "../support/runs.ts";
import { openSession } from "../support/with-runtime.ts";
import { anthropic, google, openai, provider } from "./posting-provider.ts";

vi.setConfig({ testTimeout: patience });

describe.each(["language-model-call", "stream-text"] as const)(
  "an agent's tool (%s)",
  (stepSource) => {
    it.each([
      ["Claude", anthropic],
      ["GPT", openai],
      ["Gemini", google],
    ] as const)(
      "with alternatives at the top of its schema is posted to %s as an object",
      async (_name, client) => {
        await using server = await provider(client);
        const string = { type: "string" } as const;
        const look = dynamicTool({
          description: "looks",
          inputSchema: jsonSchema({
            anyOf: [
              { type: "object", properties: { a: string }, required: ["a"] },
              { type: "object", properties: { b: string }, required: ["b"] },
            ],
          }),
          execute: () => "",
        });
        await using open = await openSession(
          { model: client.model(server.url), tools: { look } },
          { stepSource },
        );
        await (
          await open.session.send("Go.")
        ).result;
        const body = JSON.stringify(server.posted[0]?.body);
        expect(body).toContain(
          JSON.stringify({ type: "object", properties: { a: string, b: string } }),
        );
        expect(body).not.toContain("anyOf");
      },
    );

    it("with names of properties that Claude refuses gets its own names", async () => {
      const calling = anthropic.calling.map((chunk) => {
        const text = JSON.stringify(chunk).replace('"input":{}', '"input":{"filter_id_":"x"}');
        const made: unknown = JSON.parse(text);
        return Object(made) as object;
      });
      await using server = await provider(anthropic, calling);
      const inputs: unknown[] = [];
      const look = dynamicTool({
        inputSchema: jsonSchema({
          type: "object",
          properties: { "filter[id]": { type: "string" } },
        }),
        execute: (input) => {
          inputs.push(input);
          return "found";
        },
      });
      await using open = await openSession(
        { model: anthropic.model(server.url), tools: { look } },
        { stepSource },
      );
      await (
        await open.session.send("Go.")
      ).result;
      expect(JSON.stringify(server.posted[0]?.body)).toContain('"properties":{"filter_id_":');
      expect(inputs).toEqual([{ "filter[id]": "x" }]);
      const { messages: prompt } = (await open.session.view()).prompt;
      expect(JSON.stringify(prompt)).toContain(JSON.stringify({ "filter[id]": "x" }));
    });
  },
);
