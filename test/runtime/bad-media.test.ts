/** Files that cannot be read and addresses that hold nothing: named to the model, and the session continues. */

import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { tool } from "ai";
import { describe, expect, it, vi } from "vitest";
import { z } from "zod";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { replay } from "../../src/replay/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { call, calling } from "../support/script.ts";
import { png } from "../support/media.ts";
import { openSession } from "../support/with-runtime.ts";

const broken = [
  ["letters that base64 has not", "%%%"],
  ["a letter too few", "QUJDRA="],
  ["a letter too many", "QUJDR"],
  ["nothing", ""],
  ["an invalid data URL", "data:image/png;base64,@@@@"],
  ["a data URL with nothing in it", "data:image/png;base64,"],
  ["an invalid address", "https://"],
] as const;

it.each(broken)("send refuses %s for a file, and says which part", async (_, data) => {
  await using open = await openSession({ model: scriptedModel(["Hello."]) });
  const sent = open.session.send([
    { type: "text", text: "Look." },
    { type: "file", data, mediaType: "image/png", filename: "a.png" },
  ]);
  await expect(sent).rejects.toMatchObject({ code: "INVALID_INPUT", details: { part: 1 } });
  await expect(sent).rejects.toThrow(/Part 2 .*"a\.png" \(image\/png\)/);
  expect(await open.types()).toEqual(["session.created"]);
  expect(await (await open.session.send("Hi.")).result).toMatchObject({ text: "Hello." });
});

it("messages keep their order where one of them is refused", async () => {
  await using open = await openSession({ model: scriptedModel(["One.", "Two."]) });
  const picture = png({ width: 9, height: 9 });
  const [first, second, third] = await Promise.allSettled([
    open.session.send([{ type: "file", data: picture, mediaType: "image/png" }]),
    open.session.send([{ type: "file", data: "%", mediaType: "image/png" }]),
    open.session.send("Then this."),
  ]);
  expect([first.status, second.status, third.status]).toEqual([
    "fulfilled",
    "rejected",
    "fulfilled",
  ]);
  await open.session.idle();
  const said = (await open.events()).flatMap(({ type, data }) =>
    type === "message.queued" ? [typeof data.content] : [],
  );
  expect(said).toEqual(["object", "string"]);
});

it.each(broken)(
  "a log that has %s for a file is gone on with: the model is told",
  async (_, data) => {
    const log = await openMemoryLog();
    {
      await using before = await createRuntime({ log, agent: { model: scriptedModel(["One."]) } });
      const session = await before.session("s");
      await (
        await session.send("Hi.")
      ).result;
    }
    const at = 1;
    const content = [{ type: "file" as const, data, mediaType: "image/png", filename: "a.png" }];
    await log.append("s", "exists", [
      { type: "message.queued", time: at, data: { id: "old", content, delivery: "follow-up" } },
    ]);
    const model = scriptedModel(["I cannot see it.", "Hello again."]);
    await using open = await openSession({ model }, { log });
    await open.session.idle();
    await (
      await open.session.send("Hi.")
    ).result;
    expect(JSON.stringify(model.calls.at(-1)?.prompt)).toMatch(
      /The file \\"a\.png\\" \(image\/png\) is not shown here: it is (broken|empty)|is broken: /,
    );
    expect((await open.types()).filter((type) => type === "step.failed")).toEqual([]);
  },
);

it("a tool's answer gets the same note, and data URLs are sent as their content", async () => {
  const picture = png({ width: 2, height: 2 }).toString("base64");
  const shown = { type: "data" as const };
  const tools = {
    look: tool({
      inputSchema: z.object({}),
      execute: () => "done",
      toModelOutput: () => ({
        type: "content" as const,
        value: [
          { type: "file" as const, mediaType: "image/png", data: { ...shown, data: "%%%" } },
          {
            type: "file" as const,
            mediaType: "image/png",
            data: { ...shown, data: `data:image/png;base64,${picture}` },
          },
        ],
      }),
    }),
  };
  const model = scriptedModel([calling(call("look", "1")), "Seen.", "Hello."]);
  await using open = await openSession({ model, tools });
  await (
    await open.session.send("Look.")
  ).result;
  await (
    await open.session.send("Hi.")
  ).result;
  const [result] =
    model.calls[1]?.prompt.flatMap((one) => (one.role === "tool" ? one.content : [])) ?? [];
  expect(result).toMatchObject({
    output: {
      value: [
        { type: "text", text: expect.stringContaining("it is broken") as string },
        { type: "file", mediaType: "image/png", data: { type: "data", data: picture } },
      ],
    },
  });
});

/** A server of the web, as far as addresses tell: what is asked of it is asked here. */
async function webOf(answer: (path: string, response: ServerResponse) => void) {
  const asked: string[] = [];
  const server = createServer((request, response) => {
    const path = request.url ?? "";
    asked.push(path);
    answer(path, response);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const fetch: typeof globalThis.fetch = (input, init) => {
    const { pathname } = new URL(String(input instanceof Request ? input.url : input));
    return globalThis.fetch(`http://127.0.0.1:${port}${pathname}`, init);
  };
  return {
    asked,
    attachments: { fetch, maxBytes: 50_000 },
    async [Symbol.asyncDispose]() {
      server.closeAllConnections();
      server.close();
      await once(server, "close");
    },
  };
}

const picture = png({ width: 3, height: 3 });

function answer(path: string, response: ServerResponse): void {
  switch (path) {
    case "/missing.png":
      response.writeHead(404).end("no");
      return;
    case "/reset.png":
      response.destroy();
      return;
    case "/page.png":
      response.writeHead(200, { "content-type": "text/html" }).end("<!doctype html><p>Log in");
      return;
    case "/lie.png":
      response.writeHead(200, { "content-type": "image/png" }).end("<!doctype html><p>Log in");
      return;
    case "/cut.png":
      response.writeHead(200, { "content-type": "image/png" }).end(picture.subarray(0, -14));
      return;
    case "/endless.png": {
      response.writeHead(200, { "content-type": "image/png" });
      const more = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384)));
      };
      response.on("drain", more);
      more();
      return;
    }
    case "/private.png":
      response.writeHead(302, { location: "http://169.254.169.254/secret" }).end();
      return;
    default:
      response.writeHead(200, { "content-type": "image/png" }).end(picture);
  }
}

describe("an address that the provider does not fetch", () => {
  it.each([
    ["/missing.png", /could not be downloaded: 404/],
    ["/reset.png", /could not be downloaded: /],
    ["/page.png", /what is there is text\/html, and no image\/png/],
    ["/lie.png", /what is there is text\/plain, and no image\/png/],
    ["/cut.png", /it is broken: it ends before it is complete/],
    ["/endless.png", /could not be downloaded: .*50000/],
    [
      "/private.png",
      /could not be downloaded: URL with IP address 169\.254\.169\.254 is not allowed/,
    ],
  ])("is named to the model with the reason (%s), and the session continues", async (path, why) => {
    await using web = await webOf(answer);
    const model = scriptedModel(["I cannot see it.", "Hello."]);
    await using open = await openSession({ model }, { attachments: web.attachments });
    const url = new URL(`http://files.example${path}`);
    const turn = await open.session.send([
      { type: "text", text: "Look." },
      { type: "file", data: url, mediaType: "image/png", filename: "shot" },
    ]);
    expect(await turn.result).toMatchObject({ text: "I cannot see it." });
    const told = model.calls[0]?.prompt[0]?.content[1];
    expect(told).toMatchObject({ type: "text" });
    const text = JSON.stringify(told);
    expect(text).toMatch(why);
    expect(text).toMatch(/The file \\"shot\\" \(image\/png[^)]*\) is not shown here: /);
    expect(text).toContain(url.href);
    expect(text).not.toContain("secret");
    expect(await (await open.session.send("Hi.")).result).toMatchObject({ text: "Hello." });
    expect(web.asked).not.toContain("/secret");
  });

  it("is read once, is asked for again after a failure only when somebody has said more, and is never asked for by a replay", async () => {
    let isThere = false;
    await using web = await webOf((path, response) =>
      answer(isThere ? path : "/missing.png", response),
    );
    const look = tool({ inputSchema: z.object({}), execute: () => "looked" });
    const agent = {
      model: scriptedModel([calling(call("look", "1")), "No.", "Now I see it.", "Still."]),
      tools: { look },
    };
    await using open = await openSession(agent, { attachments: web.attachments });
    const file = { data: new URL("http://files.example/a.png"), mediaType: "image/png" };
    await (
      await open.session.send([{ type: "file", ...file }])
    ).result;
    expect(web.asked).toEqual(["/a.png"]);
    isThere = true;
    await (
      await open.session.send("And now?")
    ).result;
    await (
      await open.session.send("Still?")
    ).result;
    expect(web.asked).toEqual(["/a.png", "/a.png"]);
    const kinds = agent.model.calls
      .map(({ prompt }) => prompt[0]?.content)
      .flatMap((content) => (typeof content === "string" ? [] : content?.map(({ type }) => type)));
    expect(kinds).toEqual(["text", "text", "file", "file"]);
    expect(agent.model.calls[2]?.prompt[0]?.content).toMatchObject([
      { type: "file", data: { type: "data", data: picture.toString("base64") } },
    ]);
    const events = await open.events();
    const fetched = vi.spyOn(globalThis, "fetch");
    expect(await replay(events, agent)).toEqual({
      events: events.length,
      parts: expect.anything() as unknown,
    });
    expect(fetched).not.toHaveBeenCalled();
    fetched.mockRestore();
  });

  it.each(["language-model-call", "stream-text"] as const)(
    "is not waited for by who cancels the turn (%s)",
    async (stepSource) => {
      const asked = Promise.withResolvers<void>();
      await using web = await webOf(() => asked.resolve());
      // It would be waited for forever.
      const attachments = { ...web.attachments, timeoutMs: Number.POSITIVE_INFINITY };
      const options = { attachments, stepSource };
      await using open = await openSession({ model: scriptedModel(["Hello."]) }, options);
      const data = new URL("http://files.example/never.png");
      const turn = await open.session.send([{ type: "file", data, mediaType: "image/png" }]);
      await asked.promise;
      await open.session.cancel();
      expect(await turn.result).toMatchObject({ finishReason: "cancelled" });
    },
  );

  it.each([
    [Number.POSITIVE_INFINITY, answer, /^\{"type":"file"/],
    [1, () => {}, /^\{"type":"text".*it took too long/],
  ])("may be waited for %s ms", async (timeoutMs, answered, shown) => {
    await using web = await webOf(answered);
    const model = scriptedModel(["Hello."]);
    await using open = await openSession(
      { model },
      { attachments: { ...web.attachments, timeoutMs } },
    );
    const data = new URL("http://files.example/a.png");
    const turn = await open.session.send([{ type: "file", data, mediaType: "image/png" }]);
    expect(await turn.result).toMatchObject({ text: "Hello." });
    expect(JSON.stringify(model.calls[0]?.prompt[0]?.content[0])).toMatch(shown);
  });

  it("of a tool's answer is read too; what the provider fetches by itself stays an address", async () => {
    await using web = await webOf(answer);
    const url = "http://files.example/a.png";
    const value = (address: string) => [
      {
        type: "file" as const,
        mediaType: "image/png",
        data: { type: "url" as const, url: new URL(address) },
      },
    ];
    const look = tool({
      inputSchema: z.object({ at: z.string() }),
      execute: () => "looked",
      toModelOutput: ({ input }) => ({ type: "content", value: value(input.at) }),
    });
    const scripted = scriptedModel([
      calling(
        call("look", "1", { at: url }),
        call("look", "2", { at: "https://cdn.example/b.png" }),
      ),
      "Seen.",
    ]);
    const model = { ...scripted, supportedUrls: { "image/*": [/^https:/] } };
    await using open = await openSession(
      { model, tools: { look } },
      { attachments: web.attachments },
    );
    await (
      await open.session.send("Look.")
    ).result;
    const outputs = scripted.calls[1]?.prompt.flatMap(({ role, content }) =>
      role === "tool" ? content.flatMap((part) => ("output" in part ? [part.output] : [])) : [],
    );
    expect(outputs).toMatchObject([
      { value: [{ type: "file", data: { type: "data", data: picture.toString("base64") } }] },
      { value: [{ type: "file", data: { type: "url" } }] },
    ]);
    expect(web.asked).toEqual(["/a.png"]);
  });
});
