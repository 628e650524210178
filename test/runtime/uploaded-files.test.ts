/** Files that lie with a provider: what of them is kept, and who is shown them. */

import { tool } from "ai";
import { describe, expect, it } from "vitest";
import { memoryBlobs, openMemoryLog, viewSession } from "../../src/public/index.ts";
import { call, calling } from "../support/script.ts";
import {
  here,
  both,
  uploaded,
  picture,
  named,
  ask,
  modelOf,
  gpt,
  claude,
  shown,
  turnsOf,
  queued,
  noteAbout,
  look,
} from "../support/uploaded-files.ts";
import { openSession } from "../support/with-runtime.ts";
import { nothing } from "./tools.ts";
import type { UserInput } from "../../src/media/index.ts";

describe("a message with a file that was uploaded to a provider", () => {
  it.each<[string, UserInput, object]>([
    ["under the SDK's tag", [ask, named], named],
    ["bare, as it is uploaded", [ask, { ...picture, data: here }], picture],
    [
      "as an image",
      [ask, { type: "image", image: here, mediaType: "image/png" }],
      { ...picture, mediaType: "image/png" },
    ],
    [
      "as an image of some kind",
      [ask, { type: "image", image: here }],
      { ...picture, mediaType: "image/*" },
    ],
  ])("is kept as it is and reaches that provider, sent %s", async (_, input, stored) => {
    await using log = await openMemoryLog();
    const model = gpt();
    const events = await turnsOf(log, [{ model }, input]);
    expect(queued(events)).toEqual([ask, stored]);
    expect(shown(model)).toMatchObject([ask, { type: "file", data: uploaded }]);
    // Once more in the form in which the history has it.
    const again = gpt();
    const [item] = (await viewSession(log, "s")).history;
    if (item?.kind !== "user") throw new Error("The history does not begin with the message.");
    await using other = await openMemoryLog();
    await turnsOf(other, [{ model: again }, item.content]);
    expect(shown(again)).toEqual(shown(model));
  });

  it.each<[string, object]>([
    ["nobody", {}],
    ["a provider that calls it nothing", { openai: "" }],
    ["a number", { openai: 1 }],
    ["names under another tag", { type: "referral", openai: "file-1" }],
  ])("is refused, and nothing is recorded, where it names %s", async (_, reference) => {
    await using open = await openSession({ model: gpt() });
    for (const data of [reference, { type: "reference", reference }]) {
      // What JavaScript may send.
      const part = { ...picture, data } as unknown as typeof picture;
      await expect(open.session.send([ask, part])).rejects.toMatchObject({ code: "INVALID_INPUT" });
    }
    expect(await open.types()).toEqual(["session.created"]);
  });

  it("stores no blob, and no blob is collected", async () => {
    const store = memoryBlobs();
    const model = gpt();
    const blobs = { store, inlineBytes: 0 };
    await using open = await openSession({ model }, { blobs });
    await (
      await open.session.send([named])
    ).result;
    expect(await Array.fromAsync(store.list())).toEqual([]);
    expect(await open.types()).not.toContain("blob.stored");
    expect(await open.runtime.collectBlobs()).toEqual({ removed: 0, bytes: 0 });
    expect(shown(model)).toMatchObject([{ data: uploaded }]);
  });
});

describe("a model of another provider", () => {
  it("gets a note with the file and its provider, and the provider that has it finds it again", async () => {
    await using log = await openMemoryLog();
    const [first, other, back] = [gpt(), claude(), gpt()];
    const events = await turnsOf(
      log,
      [{ model: first }, [ask, named]],
      [{ model: other }, "And you?"],
      [{ model: back }, "And now?"],
    );
    expect(shown(other)).toEqual([
      ask,
      noteAbout(
        '"shot.png" (image/png) is not shown here: it lies with another provider. openai: file-1',
      ),
    ]);
    expect(shown(back)).toEqual(shown(first));
    expect(queued(events)).toEqual([ask, named]);
  });

  it("gets the files of its own provider too", async () => {
    await using log = await openMemoryLog();
    const [first, other] = [gpt(), claude()];
    const merged = { ...picture, data: both };
    await turnsOf(log, [{ model: first }, [merged]], [{ model: other }, "And you?"]);
    for (const model of [first, other]) {
      expect(shown(model)).toMatchObject([{ data: { type: "reference", reference: both } }]);
    }
  });

  const pdf = "application/pdf";
  it.each<[string, string, string, object, boolean]>([
    ["openai.chat", "gpt-5", pdf, here, true],
    ["xai.responses", "grok-4", "image", { xai: "f" }, true],
    ["acme.chat", "one", "image/png", { acme: "f" }, true],
    ["google.generative-ai", "gemini-3-pro", "image/png", { google: "uri" }, true],
    // Whose clients look for another name, have no files, or are not told enough.
    ["google.generative-ai", "gemini-3-pro", "image/*", { google: "uri" }, false],
    ["google.vertex.chat", "gemini-3-pro", "image/png", { google: "uri" }, false],
    ["vertex.anthropic.messages", "claude-opus-4-6", pdf, both, false],
    ["bedrock.anthropic.messages", "claude-opus-4-6", pdf, both, false],
    ["azure.responses", "gpt-5", pdf, { azure: "f" }, true],
    ["azure.responses", "gpt-5", pdf, here, false],
    ["azure.chat", "gpt-5", pdf, { azure: "f" }, false],
    ["gateway", "openai/gpt-5", pdf, here, false],
    ["groq.chat", "llama", "image/png", { groq: "f" }, false],
    ["moonshotai.chat", "kimi", pdf, { moonshotai: "ms://f" }, false],
    ["constructor.chat", "one", "image/png", here, false],
    // What the model does not take at all.
    ["openai.responses", "gpt-5", "audio/wav", here, false],
    ["openai.responses", "gpt-3.5-turbo", "image/png", here, false],
    ["anthropic.messages", "claude-sonnet-4-5", "text/csv", both, true],
  ])("%s %s of %s in %j: shown it is %s", async (provider, id, mediaType, data, isShown) => {
    await using log = await openMemoryLog();
    const model = modelOf(provider, id, ["Seen."]);
    const part = { ...picture, mediaType, data } as typeof picture;
    await turnsOf(log, [{ model }, [ask, part]]);
    expect(shown(model)).toMatchObject([ask, { type: isShown ? "file" : "text" }]);
  });
});

describe("a tool's answer with files that lie with a provider", () => {
  it("shows them to that provider, and notes to others", async () => {
    await using log = await openMemoryLog();
    const model = gpt([calling(call("look", "1")), "Seen."]);
    const other = claude();
    await turnsOf(
      log,
      [{ model, tools: look() }, "Look."],
      [{ model: other, tools: look() }, "You?"],
    );
    const answers = [model.calls[1], other.calls[0]].map(
      (one) => one?.prompt.find(({ role }) => role === "tool")?.content,
    );
    const why = "is not shown here: it lies with another provider. openai: file-1";
    expect(answers).toMatchObject([
      [
        {
          output: {
            type: "content",
            value: [
              { type: "text", text: "Here:" },
              { type: "file", filename: "shot.png", data: uploaded },
            ],
          },
        },
      ],
      [
        {
          output: {
            type: "content",
            value: [{ type: "text", text: "Here:" }, noteAbout(`"shot.png" (image/png) ${why}`)],
          },
        },
      ],
    ]);
  });

  it.each<[string, object, string]>([
    ["file-reference", { providerReference: here }, "application"],
    ["image-file-reference", { providerReference: here }, "image"],
    ["image-file-id", { fileId: here }, "image"],
  ])("shows notes in the place of the older %s too", async (type, data, kind) => {
    await using log = await openMemoryLog();
    const model = claude([calling(call("look", "1")), "Seen."]);
    // One of those that the SDK has given up, and still takes.
    const value = [{ type, ...data }] as unknown as [{ type: "text"; text: string }];
    const old = tool({
      inputSchema: nothing,
      execute: () => "seen",
      toModelOutput: () => ({ type: "content", value }),
    });
    await turnsOf(log, [{ model, tools: { look: old } }, "Look."]);
    expect(model.calls[1]?.prompt.at(-1)?.content).toMatchObject([
      {
        output: {
          value: [
            noteAbout(`(${kind}) is not shown here: it lies with another provider. openai: file-1`),
          ],
        },
      },
    ]);
  });
});
