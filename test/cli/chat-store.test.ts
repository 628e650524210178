/** A chat among the sessions of its store: it goes from one to another, and brings back their lines. */
import { describe, expect, it } from "vitest";
import { scriptedModel, type Script } from "../../src/models/index.ts";
import { ask } from "../support/asking.ts";
import { chatStore } from "../../src/cli/chat/host/chat-session.ts";
import { chatStage } from "./chat-stage.ts";

const ENTER = "\r";
const UP = "\u001B[A";

const agentOf = (script: Script) => ({ model: scriptedModel(script) });

describe("a chat among the sessions of its store", () => {
  it("begins another session, lists both, and goes back to the first", async () => {
    await using chat = await chatStage(agentOf(["first reply", "second reply"]));
    chat.type(`hello${ENTER}`);
    await chat.until(/^first reply$[^]*^Ask about/m);
    chat.type(`/new talk${ENTER}`);
    await chat.until(/^This is now talk, a new session\.$[^]*^Ask about/m);
    chat.type(`again${ENTER}`);
    await chat.until(/^second reply$[^]*^Ask about/m);
    chat.type(`/sessions${ENTER}`);
    await chat.until(/^\* talk .* 1 turn {2}again$[^]*^ {2}one .* 1 turn {2}hello$/m);
    chat.type(`/resume one${ENTER}`);
    await chat.until(/^This is now one\.$[^]*^You {4}hello$[^]*^Reply {2}first reply$/m);
    chat.type(`/exit${ENTER}`);
    expect((await chat.endedIn).id).toBe("one");
  });

  it("refuses names that are taken and names that nobody knows", async () => {
    await using chat = await chatStage(agentOf(["reply"]));
    await ask(await chat.runtime.session("talk-one"), "hello");
    chat.type(`/new talk-one${ENTER}`);
    await chat.until(/^There is already a session talk-one: \/resume talk-one goes to it\.$/m);
    chat.type(`/resume talk-onr${ENTER}`);
    await chat.until(/^There is no session talk-onr; did you mean talk-one\?$/m);
    chat.type(`/resume one${ENTER}`);
    await chat.until(/^This is one\.$/m);
    expect(await chat.runtime.log.revision("talk-onr")).toBe(0);
  });

  it("brings back the lines of other sessions, after its own", async () => {
    await using chat = await chatStage(agentOf(["reply", "reply"]), 80, undefined, {
      store: {
        open: () => Promise.reject(new Error("nothing is opened")),
        exists: () => Promise.resolve(false),
        list: () => Promise.resolve([]),
        earlierTexts: () => Promise.resolve(["from long ago", "from yesterday"]),
      },
    });
    await chat.until(/^> ?$/m);
    chat.type(`now${ENTER}`);
    await chat.until(/^reply$[^]*^Ask about/m);
    for (const line of ["now", "from yesterday", "from long ago"]) {
      chat.type(UP);
      await chat.until(new RegExp(`^> ${line}$`, "m"));
      expect(chat.screen()).toContain(line);
    }
  });

  it("reads the lines of other sessions from the log, oldest first", async () => {
    await using chat = await chatStage(agentOf(["reply", "reply", "reply"]));
    await ask(await chat.runtime.session("a"), "older");
    await ask(await chat.runtime.session("b"), "newer");
    expect(await chatStore(chat.runtime).earlierTexts("one")).toEqual(["older", "newer"]);
    expect(await chatStore(chat.runtime).earlierTexts("b")).toEqual(["older"]);
  });

  it("changes the model, also for sessions that are opened later, and says which answers", async () => {
    const applied: string[] = [];
    let current = "offline";
    await using chat = await chatStage(agentOf(["reply"]));
    const store = chatStore(chat.runtime, {
      get current() {
        return current;
      },
      change: async (session, name) => {
        applied.push(session);
        current = name;
        return true;
      },
      apply: async (session) => void applied.push(session),
      names: ["offline", "openai:y"],
    });
    await using second = await chatStage(agentOf(["reply"]), 80, undefined, { store });
    second.type(`/model${ENTER}`);
    await second.until(/^offline answers\. \/model <model> changes that/m);
    second.type("\u001B[B\u001B[B");
    await second.until(/^ {2}\/model offline\n› \/model openai:y$/m);
    second.type(ENTER);
    await second.until(/^From now on openai:y answers, also in later chats\.$/m);
    second.type(`/model openai:x${ENTER}`);
    await second.until(/^From now on openai:x answers, also in later chats\.$/m);
    second.type(`/new talk${ENTER}`);
    await second.until(/^This is now talk/m);
    expect(applied).toEqual(["one", "one", "talk"]);
  });

  it("shows the tokens and the cost of the session", async () => {
    await using chat = await chatStage(agentOf(["reply"]));
    chat.type(`hello${ENTER}`);
    await chat.until(/^reply$[^]*^Ask about/m);
    chat.type(`/cost${ENTER}`);
    await chat.until(/^This session so far[^]*^ {2}together .* in, .* out/m);
    expect(chat.screen()).toMatch(/^ {2}replies .*\$0\.0000 and 1 call without a known price$/m);
  });
});

describe("the line of a chat", () => {
  it("lists commands at a slash, completes one at Tab, and sends nothing at rest", async () => {
    await using chat = await chatStage(agentOf([]));
    chat.type("/que");
    await chat.until(/^ {2}\/queue {2}lists the waiting messages[^]*^> \/que$/m);
    chat.type("\t");
    await chat.until(/^> \/queue ?$/m);
    chat.type("\u0015hello\t");
    await chat.until(/^Enter sends\. Tab completes, or steers while the agent works\.$/m);
    await chat.until(/^> hello$/m);
    expect((await chat.session.view()).queue).toEqual([]);
  });

  it("asks once before Ctrl-C leaves; another key takes it back", async () => {
    await using chat = await chatStage(agentOf([]));
    await chat.until(/^> ?$/m);
    chat.interrupt();
    await chat.until(/^Ctrl-C again leaves\.$/m);
    chat.type("a\u007F");
    await chat.until(/^(?![^]*again leaves)/);
    chat.interrupt();
    await chat.until(/^Ctrl-C again leaves\.$/m);
    chat.interrupt();
    expect((await chat.endedIn).id).toBe("one");
  });

  it("opens the text in an editor, keeps the screen still meanwhile, and takes the result", async () => {
    const opened = Promise.withResolvers<string>();
    const written = Promise.withResolvers<string | undefined>();
    await using chat = await chatStage(agentOf(["a reply"]), 80, undefined, {
      editText: (text) => {
        opened.resolve(text);
        return written.promise;
      },
    });
    chat.type("short\u0007");
    expect(await opened.promise).toBe("short");
    const before = chat.screen();
    await ask(chat.session, "from elsewhere");
    chat.type("lost");
    chat.interrupt();
    expect(chat.screen()).toBe(before);
    written.resolve("two\nlines");
    await chat.until(/^a reply$[^]*^> two\n {2}lines$/m);
    expect(chat.screen()).not.toContain("lost");
  });
});
