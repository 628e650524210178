/** Time travel in a chat: forks, undoing, a look at a position, from keys to screen. */
import { describe, expect, it } from "vitest";
import type { Agent, Runtime } from "../../src/public/index.ts";
import { gate, scriptedModel, type Script } from "../../src/models/index.ts";
import { echo } from "../runtime/tools.ts";
import { call, calling, saying } from "../support/script.ts";
import { chatStage, type ChatStage } from "./chat-stage.ts";

const ENTER = "\r";
const CTRL_D = "\u0004";
const ESCAPE = "\u001B";

function agentOf(script: Script): Agent {
  return { model: scriptedModel(script), tools: { echo } };
}

/** So wide that no sentence is broken. */
const stage = (script: Script): Promise<ChatStage> => chatStage(agentOf(script), 200);

/** Says something and waits until it is answered so. */
async function talk(chat: ChatStage, said: string, answer: string): Promise<void> {
  chat.type(`${said}${ENTER}`);
  await chat.until(new RegExp(`^> ${said}$[^]*^${answer}$[^]*^tokens: [^]*^Ask about`, "m"));
}

async function saidIn(runtime: Runtime, session: string): Promise<readonly string[]> {
  const { history } = await (await runtime.session(session)).view();
  return history.flatMap((item) =>
    item.kind === "user" && typeof item.content === "string" ? [item.content] : [],
  );
}

/** The name of the session that the last sentence of this kind names. */
function named(chat: ChatStage): string {
  return [...chat.screen().matchAll(/This is now ([^ ,;]+)/g)].at(-1)?.[1] ?? "";
}

describe("a chat that travels", () => {
  it("continues in a fork under its name, and the session stays as it was", async () => {
    await using chat = await stage(["One.", "Two.", "Three."]);
    await talk(chat, "first", "One\\.");
    const { position } = await chat.session.view();
    chat.type(`/fork other${ENTER}`);
    await chat.until(/^This is now other, a fork of one, which does not change\.$/m);
    await talk(chat, "second", "Two\\.");
    expect(await saidIn(chat.runtime, "one")).toEqual(["first"]);
    expect(await saidIn(chat.runtime, "other")).toEqual(["first", "second"]);
    expect((await chat.session.view()).position).toBe(position);
    chat.type(`/fork${ENTER}`);
    await chat.until(/^This is now other-[0-9a-f]{8}, a fork of other, /m);
    const unnamed = named(chat);
    chat.type(CTRL_D);
    expect((await chat.endedIn).id).toBe(unnamed);
    const view = await (await chat.runtime.session("other")).view();
    expect(view.summary.forkedFrom).toEqual({ session: "one", position });
  });

  it("sends to the fork what is typed before it is there, and forks behind what was sent before", async () => {
    const speaking = gate();
    await using chat = await stage(["One.", saying("Two ", speaking), "Three."]);
    await talk(chat, "first", "One\\.");
    chat.type(`/fork other${ENTER}second${ENTER}/fork third${ENTER}`);
    await chat.until(/^> second$[^]*^Two$/m);
    await chat.until(/^A turn is running: use \/fork when it has ended; Esc cancels it\.$/m);
    speaking.open();
    await chat.until(/^tokens: [^]*^tokens: [^]*^Ask about/m);
    expect(await saidIn(chat.runtime, "one")).toEqual(["first"]);
    expect(await saidIn(chat.runtime, "other")).toEqual(["first", "second"]);
    expect((await Array.fromAsync(chat.runtime.sessions())).map(({ session }) => session)).toEqual([
      "one",
      "other",
    ]);
  });

  it("goes back before the last turn, and before the one before, and returns", async () => {
    await using chat = await stage([
      "One.",
      calling(call("echo", "c", { value: "x" })),
      "Two.",
      "Other.",
    ]);
    await talk(chat, "first", "One\\.");
    await talk(chat, "second", "Two\\.");
    const said = (): Promise<readonly string[]> => saidIn(chat.runtime, "one");
    chat.type(`/undo${ENTER}`);
    await chat.until(/^Back to before "second"\. \/redo returns to it\.$/m);
    await chat.until(/^1 call had run: their effects are not undone\.$/m);
    expect(await said()).toEqual(["first"]);
    chat.type(`/redo${ENTER}`);
    await chat.until(/^This is branch 1; its last message is "second"\.$/m);
    expect(await said()).toEqual(["first", "second"]);
    chat.type(`/undo${ENTER}`);
    await chat.until(/^Back to before "second"[^]*^Back to before "second"/m);
    chat.type(`/undo${ENTER}`);
    await chat.until(/^Back to before "first"\./m);
    await talk(chat, "other", "Other\\.");
    expect(await said()).toEqual(["other"]);
    // The model sees nothing of what was undone, but for the effects that remain.
    const prompt = JSON.stringify((await chat.session.view()).prompt.messages);
    expect(prompt).not.toMatch(/first|second|One|Two/);
    chat.type(`/branches${ENTER}`);
    await chat.until(/^ {2}1: 2 turns, last .*$/m);
    chat.type(`/undo${ENTER}`);
    await chat.until(/^Back to before "other"\./m);
    chat.type(`/undo${ENTER}`);
    await chat.until(/has no turn to undo\.$/m);
    expect((await chat.session.branches()).length).toBeGreaterThan(3);
  });

  it("replaces the last message, and asks for another reply", async () => {
    const echo = calling(call("echo", "c", { value: "x" }));
    await using chat = await stage(["One.", echo, "Two.", "Better.", "Best."]);
    await talk(chat, "first", "One\\.");
    await talk(chat, "second", "Two\\.");
    chat.type(`/edit third${ENTER}`);
    await chat.until(/^> third$[^]*^Better\.$[^]*^tokens: [^]*^Ask about/m);
    await chat.until(/^1 call had run: their effects are not undone\.$/m);
    expect(await saidIn(chat.runtime, "one")).toEqual(["first", "third"]);
    chat.type(`/retry${ENTER}`);
    await chat.until(/^Best\.$[^]*^tokens: [^]*^Ask about/m);
    expect(await saidIn(chat.runtime, "one")).toEqual(["first", "third"]);
  });

  it("answers a message that was held back after an edited one, not with it", async () => {
    const speaking = gate();
    const model = scriptedModel([saying("One ", speaking), "Better.", "Next."]);
    await using chat = await chatStage({ model }, 200);
    chat.type(`first${ENTER}`);
    await chat.until(/^One$/m);
    chat.type(`second${ENTER}`);
    await chat.until(/^1 after the turn: second$/m);
    chat.type(ESCAPE);
    await chat.until(/^1 held back: second$/m);
    chat.type(`/edit third${ENTER}`);
    await chat.until(/^> third$[^]*^Better\.$[^]*^> second$[^]*^Next\.$/m);
    const asked = model.calls.map(({ prompt }) => prompt.filter(({ role }) => role === "user"));
    expect(asked[1]).toHaveLength(1);
    expect(await saidIn(chat.runtime, "one")).toEqual(["third", "second"]);
  });

  it("shows how the session stood at a position, and stays where it is", async () => {
    await using chat = await stage(["One.", "Two."]);
    await talk(chat, "first", "One\\.");
    const { position } = await chat.session.view();
    await talk(chat, "second", "Two\\.");
    const end = (await chat.session.view()).position;
    chat.type(`/at ${position}${ENTER}`);
    await chat.until(
      new RegExp(
        `^one at ${position}: idle\\.waiting \\(of ${end}\\)$[^]*^Last messages:\n  You +first\n  Reply +One\\.\n~?[\\d,]+ tokens for [^]*^The chat stays at ${end}\\.$`,
        "m",
      ),
    );
    const shown = /^(~?[\d,]+) tokens for /m.exec(chat.screen())?.[1];
    const { tokens } = await chat.session.context({ position: position });
    expect(shown?.replace("~", "")).toBe(tokens.toLocaleString("en-US"));
    expect(tokens).toBeLessThan((await chat.session.context()).tokens);
    chat.type(`/at 1${ENTER}`);
    await chat.until(/^No messages yet\.$/m);
    chat.type(`/at${ENTER}`);
    await chat.until(new RegExp(`^one is at ${end}, since .*; /at <position> shows it there`, "m"));
    chat.type(`/at ${end + 1}${ENTER}`);
    await chat.until(new RegExp(`^one is at ${end}; there is no position ${end + 1} yet\\.$`, "m"));
    expect((await chat.session.view()).position).toBe(end);
  });

  it("is refused while a turn runs, for a taken name and for an invalid one", async () => {
    const speaking = gate();
    await using chat = await stage(["One.", saying("Two ", speaking)]);
    await talk(chat, "first", "One\\.");
    await chat.runtime.session("taken");
    chat.type(`/fork taken${ENTER}`);
    await chat.until(/There is already a session taken; nothing was forked\. Give another name/);
    chat.type(`/fork -b${ENTER}`);
    await chat.until(/"-b"/);
    chat.type(`second${ENTER}`);
    await chat.until(/^Two$/m);
    for (const command of ["fork", "undo"]) {
      chat.type(`/${command}${ENTER}`);
      await chat.until(
        new RegExp(
          `^A turn is running: use /${command} when it has ended; Esc cancels it\\.$`,
          "m",
        ),
      );
    }
    // Looking changes nothing, and is not refused.
    chat.type(`/at 2${ENTER}`);
    await chat.until(/^one at 2: /m);
    speaking.open();
    await chat.until(/^Two$[^]*^tokens: [^]*^Ask about/m);
    const sessions = await Array.fromAsync(chat.runtime.sessions());
    expect(sessions.map(({ session }) => session)).toEqual(["one", "taken"]);
  });

  it("takes along what waits, and tells so", async () => {
    const speaking = gate();
    await using chat = await stage(["One.", saying("Two ", speaking), "Three."]);
    await talk(chat, "first", "One\\.");
    chat.type(`second${ENTER}`);
    await chat.until(/^Two$/m);
    chat.type(`later${ENTER}`);
    await chat.until(/^1 after the turn: later$/m);
    chat.type(`/cancel${ENTER}`);
    await chat.until(/^Cancelled\.[^]*later$/m);
    await chat.session.idle();
    chat.type(`/fork other${ENTER}`);
    await chat.until(/^1 message waiting here too; \/queue lists them\.$/m);
    chat.type(`/deliver${ENTER}`);
    await chat.until(/^> later$[^]*^Three\.$/m);
    expect(await saidIn(chat.runtime, "one")).toEqual(["first", "second"]);
    expect((await chat.session.view()).queue).toHaveLength(1);
  });
});
