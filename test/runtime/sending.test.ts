/** Messages: accepted once, delivered in their place, taken back while they wait. */

import { png } from "../support/media.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";
import { call, calling, saying } from "../support/script.ts";
import { seen } from "../support/seen.ts";
import { openSession, reopen } from "../support/with-runtime.ts";
import { echo } from "./tools.ts";
import { describe, expect, it } from "vitest";

/** What users said, in the order in which a prompt has it. */
function said(prompt: unknown): readonly string[] {
  return [...JSON.stringify(prompt).matchAll(/"text":"(say [^"]*)"/g)].map(
    ([, text]) => text ?? "",
  );
}

describe("a message sent while a turn runs", () => {
  it("waits for its own turn as a follow-up, and the answer to `send` says so", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", hold, "moment."), "Now you."]);
    await using open = await openSession({ model });
    const first = await open.session.send("say first");
    await hold.reached;
    const second = await open.session.send("say second");
    expect([first.queued, second.queued]).toEqual([false, true]);
    expect((await open.session.view()).queue.map(({ content }) => content)).toEqual(["say second"]);
    hold.open();
    expect((await first.result).turn).toBe(1);
    expect(await second.result).toMatchObject({ turn: 2, text: "Now you." });
    expect(said(model.calls[0]?.prompt)).toEqual(["say first"]);
    expect(said(model.calls[1]?.prompt)).toEqual(["say first", "say second"]);
  });

  it("enters at the next step boundary when it steers, before what only follows", async () => {
    const hold = gate();
    const model = scriptedModel([
      calling({ type: "text", deltas: ["I ", hold, "look."] }, call("echo", "1", { value: 1 })),
      "As you wish.",
      "And now the rest.",
    ]);
    await using open = await openSession({ model, tools: { echo } });
    const turn = await open.session.send("say go");
    await hold.reached;
    const follow = await open.session.send("say after that");
    const steer = await open.session.send("say left", { delivery: "steer" });
    hold.open();
    expect(await steer.result).toMatchObject({ turn: 1, text: "As you wish." });
    expect(await turn.result).toEqual(await steer.result);
    expect(await follow.result).toMatchObject({ turn: 2, text: "And now the rest." });
    expect(said(model.calls[1]?.prompt)).toEqual(["say go", "say left"]);
    const delivered = (await open.events()).filter((event) => event.type === "message.delivered");
    expect(delivered.map(({ data }) => data.boundary)).toEqual(["turn", "step", "turn"]);
  });

  it("keeps the turn going when it steers after the model's last words", async () => {
    const hold = gate();
    const model = scriptedModel([saying("That is ", hold, "all."), "Not quite, then."]);
    await using open = await openSession({ model });
    const turn = await open.session.send("say go");
    await hold.reached;
    await open.session.send("say wait", { delivery: "steer" });
    hold.open();
    expect(await turn.result).toMatchObject({ turn: 1, text: "Not quite, then." });
  });

  it("is taken back while it waits, and its turn never comes", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", hold, "moment.")]);
    await using open = await openSession({ model });
    const turn = await open.session.send("say first");
    await hold.reached;
    const second = await open.session.send("say second", { id: "m2" });
    const refused = second.result.catch((error: unknown) => error);
    await open.session.withdraw("m2", "never mind");
    hold.open();
    await turn.result;
    expect(await refused).toMatchObject({ code: "COMMAND_REFUSED" });
    expect((await Array.fromAsync(second)).map(({ type }) => type)).toEqual(["message.withdrawn"]);
    expect(model.calls).toHaveLength(1);
    await expect(open.session.withdraw("m2")).rejects.toMatchObject({ code: "COMMAND_REFUSED" });
  });

  it("waits after a cancelled turn until the session is resumed", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", hold), "Now you."]);
    await using open = await openSession({ model });
    await open.session.send("say first");
    await hold.reached;
    const second = await open.session.send("say second");
    await open.session.cancel();
    const { state, queue } = await open.session.view();
    expect(state.value).toEqual({ idle: "waiting" });
    expect(queue).toHaveLength(1);
    await open.session.resume();
    expect(await second.result).toMatchObject({ turn: 2, text: "Now you." });
  });
});

describe("a message sent again under the same id", () => {
  it("is delivered once, whether it waits, runs or is done", async () => {
    const hold = gate();
    const model = scriptedModel([saying("One ", hold, "moment."), "Two."]);
    await using open = await openSession({ model });
    const first = await open.session.send("say first", { id: "m1" });
    await hold.reached;
    const again = await open.session.send("say first", { id: "m1" });
    const second = await open.session.send("say second", { id: "m2" });
    const secondAgain = await open.session.send("say second", { id: "m2" });
    expect([again.queuePosition, secondAgain.queuePosition]).toEqual([
      first.queuePosition,
      second.queuePosition,
    ]);
    hold.open();
    expect(await again.result).toEqual(await first.result);
    expect(await secondAgain.result).toEqual(await second.result);
    const done = await open.session.send("say first", { id: "m1" });
    expect(await done.result).toEqual(await first.result);
    expect(await Array.fromAsync(done)).toEqual(await Array.fromAsync(first));
    expect(model.calls).toHaveLength(2);
    const queued = (await open.types()).filter((type) => type === "message.queued");
    expect(queued).toHaveLength(2);
  });

  it("is known again after the session was opened anew", async () => {
    await using open = await openSession({ model: scriptedModel(["Done."]) });
    const before = await (await open.session.send("say it", { id: "m1" })).result;
    const model = scriptedModel([]);
    await using again = await reopen(open, { model });
    const turn = await again.session.send("say it", { id: "m1" });
    expect(await turn.result).toEqual(before);
    expect(model.calls).toEqual([]);
  });

  it.each(["constructor", "__proto__"])("is no other message because its id is %s", async (id) => {
    await using open = await openSession({ model: scriptedModel(["Done.", "Twice."]) });
    const turn = await open.session.send("say it", { id });
    expect(await turn.result).toMatchObject({ text: "Done." });
    const again = await open.session.send("say it", { id });
    expect(await again.result).toMatchObject({ text: "Done." });
  });

  it("starts the turn that a crash had kept from starting", async () => {
    await using open = await openSession({ model: scriptedModel([]) });
    const { log } = open;
    await open.runtime.close();
    const data = { id: "m1", content: "say it", delivery: "follow-up" } as const;
    await log.append("s", "exists", [{ time: 1, type: "message.queued", data }]);
    await using again = await openSession({ model: scriptedModel(["Done."]) }, { log });
    expect((await again.session.view()).queue.map(({ id }) => id)).toEqual(["m1"]);
    const turn = await again.session.send("say it", { id: "m1" });
    expect(await turn.result).toMatchObject({ text: "Done." });
  });
});

it("the turn is iterated from the delivery of its message to its end, live and afterwards", async () => {
  const hold = gate();
  await using open = await openSession({
    model: scriptedModel([saying("One ", hold, "two."), "x"]),
  });
  const turn = await open.session.send("say it");
  const live = Array.fromAsync(turn);
  await hold.reached;
  await open.session.send("say more");
  hold.open();
  await open.session.idle();
  const events = await live;
  expect(events[0]?.type).toBe("turn.started");
  expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { turn: 1 } });
  expect(events).toEqual(await Array.fromAsync(turn));
  const stored = (await open.events()).slice(events[0]?.position ?? 0, events.at(-1)?.position);
  expect(events.slice(1)).toEqual(stored);
});

it.each([
  ["no text", ""],
  ["no parts", []],
  ["white space", " \n"],
  [
    "parts of white space",
    [
      { type: "text" as const, text: "" },
      { type: "text" as const, text: " " },
    ],
  ],
])("a message of %s is refused, and nothing is recorded", async (_, content) => {
  await using open = await openSession({ model: scriptedModel([]) });
  await expect(open.session.send(content)).rejects.toMatchObject({ code: "INVALID_INPUT" });
  expect(await open.types()).toEqual(["session.created"]);
});

it("files are stored as text and reach the model as they were sent", async () => {
  const scripted = scriptedModel(["Nice."]);
  const model = { ...scripted, supportedUrls: { "image/*": [/^https:/] } };
  await using open = await openSession({ model });
  const bytes = png({ width: 1, height: 1 });
  const url = new URL("https://a.invalid/b.png");
  const turn = await open.session.send([
    { type: "text", text: "say what this is" },
    { type: "file", data: bytes, mediaType: "image/png" },
    { type: "file", data: url, mediaType: "image/png" },
  ]);
  await turn.result;
  const queued = await seen(open.session, "message.queued");
  expect(queued.data.content).toEqual([
    { type: "text", text: "say what this is" },
    { type: "file", data: bytes.toString("base64"), mediaType: "image/png" },
    { type: "file", data: "https://a.invalid/b.png", mediaType: "image/png" },
  ]);
  expect(scripted.calls[0]?.prompt[0]?.content).toMatchObject([
    { type: "text", text: "say what this is" },
    {
      type: "file",
      mediaType: "image/png",
      data: { type: "data", data: bytes.toString("base64") },
    },
    { type: "file", mediaType: "image/png", data: { type: "url", url } },
  ]);
});

it("files are taken under the SDK's tags too", async () => {
  const scripted = scriptedModel(["Nice."]);
  const model = { ...scripted, supportedUrls: { "image/*": [/^https:/] } };
  await using open = await openSession({ model });
  const bytes = png({ width: 1, height: 1 });
  const url = new URL("https://a.invalid/b.png");
  await (
    await open.session.send([
      { type: "file", data: { type: "data", data: bytes }, mediaType: "image/png" },
      { type: "file", data: { type: "url", url }, mediaType: "image/png" },
      { type: "file", data: { type: "text", text: "a, b" }, mediaType: "text/csv" },
    ])
  ).result;
  const queued = await seen(open.session, "message.queued");
  expect(queued.data.content).toEqual([
    { type: "file", data: bytes.toString("base64"), mediaType: "image/png" },
    { type: "file", data: "https://a.invalid/b.png", mediaType: "image/png" },
    { type: "file", data: Buffer.from("a, b").toString("base64"), mediaType: "text/csv" },
  ]);
});
