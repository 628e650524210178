/** Up and Down bring back what was typed. */
import { describe, expect, it } from "vitest";
import { draftText, emptyDraft, type Draft } from "../../src/cli/terminal/draft.ts";
import { InputHistory } from "../../src/cli/chat/line/typed-line.ts";
import { earlierInputs } from "../../src/cli/chat/host/resumed-session.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { chatStage } from "./chat-stage.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const [ENTER, UP, DOWN] = ["\r", "\u001B[A", "\u001B[B"];

describe("lines that were typed before", () => {
  const walk = (recall: InputHistory, ways: readonly ("up" | "down")[], draft: Draft): string[] =>
    ways.map((way) => draftText((draft = recall.step(way, draft))));

  it("come back the newest first, stop at the oldest, and end at what is being typed", () => {
    const recall = new InputHistory(["one", "two", "two", " "]);
    const typing = { before: "half", after: " a line" };
    expect(walk(recall, ["up", "up", "up", "down", "down", "down"], typing)).toEqual([
      "two",
      "one",
      "one",
      "two",
      "half a line",
      "half a line",
    ]);
  });

  it("begin at the newest again when a line has been sent", () => {
    const recall = new InputHistory(["one"]);
    recall.step("up", emptyDraft);
    recall.add("two");
    expect(walk(recall, ["up", "up"], emptyDraft)).toEqual(["two", "one"]);
  });
});

it("a chat brings back what was typed in it, commands too, to be sent again", async () => {
  await using chat = await chatStage({ model: scriptedModel(["Yes.", "Yes again."]) });
  chat.type(`is it so?${ENTER}`);
  await chat.until(/^Yes\.$[^]*^tokens: [^]*^Ask about/m);
  chat.type(`/queue${ENTER}`);
  await chat.until(/^No message waits\.$/m);
  chat.type("half");
  chat.type(UP);
  await chat.until(/^> \/queue$/m);
  chat.type(UP);
  await chat.until(/Ctrl-D leaves[^>]*\n> is it so\?$/m);
  chat.type(DOWN + DOWN);
  await chat.until(/^> half$/m);
  chat.type(`\u0015${UP}${UP}${ENTER}`);
  await chat.until(/^Yes again\.$[^]*^tokens: [^]*^Ask about/m);
  expect((await chat.session.view()).history.filter(({ kind }) => kind === "user")).toHaveLength(2);
  chat.type("\u0004");
  await chat.ended;
});

it("a session's earlier messages are among them, without the files that came along", async () => {
  await using folder = await temporaryFolder({ "notes.md": "Ship it." });
  await using chat = await chatStage({ model: scriptedModel(["One.", "Two."]) });
  await (
    await chat.session.send("first")
  ).result;
  const files = [folder.at("notes.md")];
  await (
    await chat.session.send({ text: "see @notes.md", files })
  ).result;
  await chat.until(/^Two\.$[^]*^tokens: [^]*^Ask about/m);
  expect(earlierInputs(await chat.session.view())).toEqual(["first", "see @notes.md"]);
  chat.type("\u0004");
  await chat.ended;
});

describe("Ctrl-R", () => {
  const [CTRL_R, ESCAPE] = ["\u0012", "\u001B\u001B"];
  const line = (text: string): RegExp => new RegExp(`Ctrl-D leaves[^>]*\\n> ${text}$`, "m");

  it("finds the newest line with a text, then older ones, and takes one into the line at Enter", async () => {
    await using chat = await chatStage({ model: scriptedModel([]) });
    for (const typed of ["/at 1", "/queue", "/at 2", "/cost"]) chat.type(`${typed}${ENTER}`);
    await chat.until(/^The chat stays at 1\.$/m);
    chat.type(`half${CTRL_R}AT`);
    await chat.until(/^Search "AT"\.[^]*\n> \/at 2$/m);
    chat.type(CTRL_R);
    await chat.until(/^Search "AT"\.[^]*\n> \/at 1$/m);
    chat.type(CTRL_R);
    await chat.until(/^Search "AT": no other line has it\.[^]*\n> \/at 1$/m);
    chat.type("\u007F\u007Fqu");
    await chat.until(/^Search "qu"\.[^]*\n> \/queue$/m);
    chat.type(ENTER);
    await chat.until(line("/queue"));
    expect(chat.screen()).not.toContain("Search");
    chat.type("\u0004");
    chat.interrupt();
    chat.type("\u0004");
    await chat.ended;
  });

  it.each([
    ["Esc", ESCAPE],
    ["Ctrl-G", "\u0007"],
    ["Ctrl-C", undefined],
  ])("gives up at %s, with the line as it was", async (_key, keys) => {
    await using chat = await chatStage({ model: scriptedModel([]) });
    chat.type(`/queue${ENTER}`);
    await chat.until(/^No message waits/m);
    chat.type(`half${CTRL_R}que`);
    await chat.until(/^Search "que"[^]*\n> \/queue$/m);
    if (keys === undefined) chat.interrupt();
    else chat.type(keys);
    await chat.until(line("half"));
    expect(chat.screen()).not.toContain("Search");
  });
});
