/** One message, one turn, one process: what scripts and pipes build on. */
import { readdir } from "node:fs/promises";
import { describe, expect, it } from "vitest";
import type { z } from "zod";
import { eventSchemas } from "../../src/events/index.ts";
import { jsonLines, run, runProcess, sessionOf } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { temporaryFolder } from "./temporary-folder.ts";

const question = "which files mention zod?";
const files = {
  "src/a.ts": 'import { z } from "zod";\n',
  "b.md": "about zod\n",
  "c.txt": "nothing of the kind\n",
};

// oxlint-disable-next-line no-control-regex
const escapes = /\u001B/;

describe("one turn without a terminal", () => {
  it("answers on stdout from what the folder really holds, without escape sequences, and exits 0", async () => {
    await using folder = await temporaryFolder(files);
    const first = await runProcess([question], { cwd: folder.path });
    expect(first).toMatchObject({ code: 0, signal: null });
    expect(first.stdout).toContain("src/a.ts");
    expect(first.stdout).toContain("b.md");
    expect(first.stdout).not.toContain("c.txt");
    expect(first.stdout + first.stderr).not.toMatch(escapes);

    await folder.write("c.txt", "now it names zod too\n");
    const second = await run([question], { cwd: folder.path });
    expect(second.stdout).toContain("c.txt");
  });

  it("says in one line of stderr that the offline model answers, what it understands, and how to name a real one", async () => {
    await using folder = await temporaryFolder(files);
    const { stdout, stderr } = await run([question], { cwd: folder.path });
    const notes = (text: string): readonly string[] =>
      text.split("\n").filter((line) => line.includes("offline model answers"));
    expect(notes(stderr)).toHaveLength(1);
    expect(notes(stderr)[0]).toMatch(/try "list all files".*--model.*openai:<model>/);
    expect(notes(stdout)).toEqual([]);
    const asked = await run(["--model", "offline", question], { cwd: folder.path });
    expect(notes(asked.stderr)).toEqual([]);
  });

  it("tells progress on stderr: the session, how to resume it, the tool calls, the tokens", async () => {
    await using folder = await temporaryFolder(files);
    const ended = await run([question], { cwd: folder.path });
    expect(ended.stderr).toContain(`turnlog --session ${sessionOf(ended)}`);
    expect(ended.stderr).toMatch(/^→ search_files query="zod"/m);
    expect(ended.stderr).toMatch(/^✓ search_files · 2 matches · /m);
    expect(ended.stderr).toMatch(/^tokens: [\d,]+ in, [\d,]+ out.* · 2 steps · /m);
  });

  it("takes several words as one message", async () => {
    await using folder = await temporaryFolder(files);
    const { code, stdout } = await run(question.split(" "), { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).toContain("b.md");
  });

  it("reads the message from a pipe when none is given", async () => {
    await using folder = await temporaryFolder(files);
    const { code, stdout } = await runProcess([], { cwd: folder.path, input: `${question}\n` });
    expect(code).toBe(0);
    expect(stdout).toContain("b.md");
  });

  it("does not wait for a pipe when a message is given", async () => {
    await using folder = await temporaryFolder(files);
    const { stdout } = await runProcess([question], { cwd: folder.path, input: "list all files" });
    expect(stdout).not.toContain("c.txt");
  });

  it("writes no escape sequences with NO_COLOR, whatever else asks for them", async () => {
    await using folder = await temporaryFolder(files);
    const env = { NO_COLOR: "1", FORCE_COLOR: "1" };
    const { stdout, stderr } = await runProcess([question], { cwd: folder.path, env });
    expect(stdout + stderr).not.toMatch(escapes);
  });

  it("keeps the store where --dir says, and out of the agent's sight", async () => {
    await using folder = await temporaryFolder(files);
    const args = ["--dir", "kept here", "list all files"];
    const first = await run(args, { cwd: folder.path });
    expect(first.stderr).toContain(`--session ${sessionOf(first)} --dir "kept here"`);
    const { stdout } = await run(args, { cwd: folder.path });
    expect(stdout).toContain("b.md");
    expect(stdout).not.toContain("kept here");
  });

  it("offers write_file only with --allow-write, which without a terminal is the consent", async () => {
    await using folder = await temporaryFolder(files);
    const request = 'write "made by the agent" to new.txt';
    const refused = await run([request], { cwd: folder.path });
    expect(refused.stderr).not.toContain("write_file");
    const written = await run(["--allow-write", request], { cwd: folder.path });
    expect(written.stderr).toMatch(/^✓ write_file/m);
    const read = await run(["read new.txt"], { cwd: folder.path });
    expect(read.stdout).toContain("made by the agent");
  });
});

describe("which session", () => {
  it("is told to be new where it was not there, with the one that may have been meant", async () => {
    await using folder = await temporaryFolder(files);
    const { path: cwd } = folder;
    const first = await run(["--session", "talk", "hello"], { cwd });
    expect(first.stderr).toMatch(/^New session talk · /m);
    expect(first.stderr).not.toContain("did you mean");
    const slip = await run(["--session", "takl", "hello"], { cwd });
    expect(slip.stderr).toMatch(/^New session takl · /m);
    expect(slip.stderr).toContain("Session takl is new; did you mean talk?\n");
    await run(["--session", "talk1", "hello"], { cwd });
    const series = await run(["--session", "talk2", "hello"], { cwd });
    expect(series.stderr).not.toContain("did you mean talk1");
  });

  it("is the one that was used last with --continue", async () => {
    await using folder = await temporaryFolder(files);
    const { path: cwd } = folder;
    const nowhere = await run(["-c", "hello"], { cwd });
    expect(nowhere).toMatchObject({ code: 1, stdout: "" });
    expect(nowhere.stderr).toContain("[LOG_NOT_FOUND]");
    await run(["--session", "b", question], { cwd });
    await run(["--session", "a", "hello"], { cwd });
    await run(["--session", "b", "hello"], { cwd });
    const more = await run(["--continue", "what did you do?"], { cwd });
    expect(more.stderr).toMatch(/^Session b · /m);
    expect(more.stdout).toContain("I called 1 tool");
    const both = await run(["-c", "--session", "a", "hello"], { cwd });
    expect(both).toMatchObject({ code: 2, stdout: "" });
  });
});

describe("a word that is like a command", () => {
  it.each([
    ["behind --", ["--", "shwo", "nope"], "shwo nope"],
    ["with what follows it, as one argument", ["shwo nope"], "shwo nope"],
    ["behind the name of the command", ["chat", "shwo"], "shwo"],
  ])("is sent unchanged %s", async (_where, args, message) => {
    await using folder = await temporaryFolder(files);
    const { code, stdout } = await run(args, { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).toContain(`I do not understand "${message}". That takes a real model`);
  });
});

describe("--json", () => {
  it("prints every event of the turn and nothing else: each fits its schema, none is missing", async () => {
    await using folder = await temporaryFolder(files);
    const ended = await run(["--json", question], { cwd: folder.path });
    expect(ended.code).toBe(0);
    const events = readEvents(jsonLines(ended.stdout));
    for (const { type, data } of events) {
      expect(Object.keys(eventSchemas)).toContain(type);
      const schema: z.ZodType = eventSchemas[type];
      expect(schema.safeParse(data)).toMatchObject({ success: true });
    }
    const [first] = events;
    expect(events.map(({ position }) => position)).toEqual(
      events.map((_, index) => (first?.position ?? 0) + index),
    );
    expect(events.map(({ type }) => type)).toEqual(
      expect.arrayContaining(["step.started", "tool.succeeded", "part.text-delta"]),
    );
    expect(first?.type).toBe("turn.started");
    expect(events.at(-1)).toMatchObject({ type: "turn.ended", data: { reason: "stop" } });
  });

  it("prints the same events that the log keeps", async () => {
    await using folder = await temporaryFolder(files);
    const ended = await run(["--json", question], { cwd: folder.path });
    const args = ["show", sessionOf(ended), "--view", "events", "--json"];
    const shown = await run(args, { cwd: folder.path });
    const turn = jsonLines(ended.stdout);
    const kept = jsonLines(shown.stdout).slice(-turn.length);
    const session = sessionOf(ended);
    expect(turn).toEqual(kept.map((event) => Object.assign({ session }, event)));
  });
});

describe("wrong usage", () => {
  it.each([
    ["no message and an empty pipe", [], /no message/],
    ["an unknown option", ["--colour", "list"], /unknown option/],
    ["an unknown model", ["--model", "clippy", "list"], /no model "clippy"/],
    ["a model without its key", ["--model", "openai:gpt-6", "list"], /OPENAI_API_KEY/],
    ["a bad session name", ["--session", "../up", "list"], /session id/],
    ["an unknown durability", ["--durability", "maybe", "list"], /durability/],
    ["a position that is no number", ["show", "one", "--position", "x"], /whole number/],
    ["position 0", ["show", "one", "--position", "0"], /counted from 1/],
    ["an unknown view", ["show", "one", "--view", "top"], /view/],
    ["no session to show", ["show"], /missing required argument/],
    ["a slip in a command", ["shwo", "one"], /did you mean show\? .*turnlog -- shwo one/],
    ["one behind options", ["--session", "one", "sesions"], /did you mean sessions\?/],
    [
      "another program's name",
      ["--dir", "st", "list"],
      /did you mean sessions\? .*turnlog -- list/,
    ],
    ["a word in the form of a command", ["hello"], /no command "hello"; turnlog --help/],
    ["a former name", ["fork", "one", "--as", "two"], /--as is now called --id\./],
    ["one of another meaning", ["bill", "one", "--as", "m"], /--as is now called --model\./],
    ["help on what there is not", ["help", "nope"], /no command "nope"/],
  ])("exits 2, says why and makes nothing: %s", async (_what, args, why) => {
    await using folder = await temporaryFolder(files);
    const ended = await run(args, { cwd: folder.path });
    expect(ended).toMatchObject({ code: 2, stdout: "" });
    expect(ended.stderr).toMatch(why);
    expect(ended.stderr).not.toMatch(/^\s+at /m);
    expect(await readdir(folder.path)).not.toContain(".turnlog");
  });

  it("exits 2 when a variable of the environment makes no sense", async () => {
    await using folder = await temporaryFolder(files);
    const env = { OPENAI_BASE_URL: "not a url" };
    const ended = await run([question], { cwd: folder.path, env });
    expect(ended.code).toBe(2);
    expect(ended.stderr).toContain("OPENAI_BASE_URL");
  });
});

describe("help", () => {
  it("prints the version of the package, and help for every command, on stdout", async () => {
    await using folder = await temporaryFolder();
    const version = await run(["--version"], { cwd: folder.path });
    expect(version).toMatchObject({ code: 0, stderr: "" });
    expect(version.stdout).toMatch(/^\d+\.\d+\.\d+\n$/);
    for (const command of ["chat", "sessions", "show", "repair"]) {
      const { code, stdout, stderr } = await run([command, "--help"], { cwd: folder.path });
      expect({ code, stderr }).toEqual({ code: 0, stderr: "" });
      expect(stdout).toContain(`Usage: turnlog ${command}`);
      expect(stdout).toContain("--dir");
    }
  });
});
