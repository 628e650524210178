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
