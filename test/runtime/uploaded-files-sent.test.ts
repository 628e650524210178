/** Files that lie with a provider, as the real clients post them: a session's requests beside the SDK's own. */

import { isStepCount, streamText, tool, type UserContent } from "ai";
import { describe, expect, it } from "vitest";
import { createRuntime } from "../../src/public/index.ts";
import { anthropic, openai, provider, type Client, type Posted } from "./posting-provider.ts";
import { nothing } from "./tools.ts";

const files = { openai: "file-1", anthropic: "file_2" };
const question: UserContent = [
  { type: "text", text: "Compare them." },
  { type: "file", mediaType: "image/png", data: files },
  {
    type: "file",
    mediaType: "application/pdf",
    filename: "plan.pdf",
    data: { type: "reference", reference: files },
  },
];
const next = "And then?";

const tools = {
  look: tool({
    inputSchema: nothing,
    execute: () => "seen",
    toModelOutput: () => ({
      type: "content",
      value: [
        { type: "file", mediaType: "image/png", data: { type: "reference", reference: files } },
      ],
    }),
  }),
};

/** What a session posts: a question, what a tool has answered, and another question. */
async function ours(client: Client): Promise<readonly Posted[]> {
  await using server = await provider(client, client.calling);
  const model = client.model(server.url);
  await using runtime = await createRuntime({
    memory: true,
    agent: { model, tools, maxRetries: 0, promptCache: "off", context: { cut: { reader: false } } },
  });
  const session = await runtime.session("s");
  for (const input of [question, next]) {
    await (
      await session.send(input)
    ).result;
  }
  return server.posted;
}

async function theSdks(client: Client): Promise<readonly Posted[]> {
  await using server = await provider(client, client.calling);
  const call = { model: client.model(server.url), tools, maxRetries: 0 };
  const asked = { role: "user" as const, content: question };
  const loop = streamText({ ...call, messages: [asked], stopWhen: isStepCount(2) });
  const said = await loop.responseMessages;
  const more = [asked, ...said, { role: "user" as const, content: next }];
  await streamText({ ...call, messages: more }).consumeStream();
  return server.posted;
}

describe.each<[string, Client, readonly object[]]>([
  [
    "openai",
    openai,
    [
      { type: "input_text", text: "Compare them." },
      { type: "input_image", file_id: "file-1" },
      { type: "input_file", file_id: "file-1" },
    ],
  ],
  [
    "anthropic",
    anthropic,
    [
      { type: "text", text: "Compare them." },
      { type: "image", source: { type: "file", file_id: "file_2" } },
      { type: "document", source: { type: "file", file_id: "file_2" } },
    ],
  ],
])("what %s is sent", (name, client, content) => {
  it("has its names of the files in every request, as the SDK itself sends them", async () => {
    const [posted, expected] = [await ours(client), await theSdks(client)];
    expect(posted).toHaveLength(3);
    expect(posted).toEqual(expected);
    for (const { body } of posted) {
      const { input, messages } = body as Record<string, readonly unknown[] | undefined>;
      expect((input ?? messages)?.[0]).toMatchObject({ role: "user", content });
    }
    // The last two have what the tool has answered too.
    const file = name === "openai" ? "file-1" : "file_2";
    const named = posted.map(
      ({ body }) => JSON.stringify(body).split(`"file_id":"${file}"`).length,
    );
    expect(named).toEqual([3, 4, 4]);
  });
});

it("a session that continues with another provider sends it a note, which its client takes", async () => {
  await using one = await provider(openai);
  await using other = await provider(anthropic);
  await using runtime = await createRuntime({
    memory: true,
    agent: { model: openai.model(one.url), maxRetries: 0 },
  });
  const session = await runtime.session("s");
  const data = { openai: "file-1" };
  const { result } = await session.send([
    { type: "text", text: "What is it?" },
    { type: "file", mediaType: "image/png", filename: "shot.png", data },
  ]);
  await result;
  const fork = await session.fork({ model: anthropic.model(other.url) });
  await (
    await fork.send(next)
  ).result;
  const [sent] = one.posted;
  expect(JSON.stringify(sent?.body)).toContain('{"type":"input_image","file_id":"file-1"}');
  const note =
    '[The file "shot.png" (image/png) is not shown here: it lies with another provider. openai: file-1]';
  expect(other.posted[0]?.body).toMatchObject({
    messages: [
      {
        role: "user",
        content: [
          { type: "text", text: "What is it?" },
          { type: "text", text: note },
        ],
      },
      { role: "assistant" },
      { role: "user" },
    ],
  });
});
