/** `export` and `import`: a session goes from one store to another as a file, all of it or nothing. */

import { execFileSync } from "node:child_process";
import { watch } from "node:fs";
import { open, readdir, readFile } from "node:fs/promises";
import { beforeAll, describe, expect, it } from "vitest";
import type { NewEvent } from "../../src/events/index.ts";
import {
  createRuntime,
  exportSession,
  openLog,
  openMemoryLog,
  verifyLog,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { readFixture } from "../laws/session-fixture.ts";
import { png } from "../support/media.ts";
import { all, inAll, patience, times } from "../support/runs.ts";
import { jsonLines, run, runProcess, start } from "./command-line.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

async function folderWith(session: string, events: readonly NewEvent[]): Promise<TemporaryFolder> {
  const folder = await temporaryFolder();
  await using log = await openLog({ dir: folder.at(".turnlog"), durability: "os" });
  await log.append(session, "none", events, { origin: "copied" });
  return folder;
}

/** A recording with a part that says what JSON leaves in strings and other readers break lines at. */
async function events(): Promise<readonly NewEvent[]> {
  const recorded = await readFixture("tools");
  const later = { type: "later.happened", version: 2, data: "one\u2028two\u2029three\r\n" };
  return [...recorded, { type: "unknown", time: 1, data: later }];
}

describe("export and import", () => {
  it("bring a session into another store, under its name or a new one, exactly", async () => {
    await using from = await folderWith("one", await events());
    const written = await run(["export", "one", "--out", "one.jsonl"], { cwd: from.path });
    expect(written).toMatchObject({ code: 0, stdout: "" });
    const file = await readFile(from.at("one.jsonl"), "utf8");
    expect((await run(["export", "one"], { cwd: from.path })).stdout).toBe(file);
    expect((await readdir(from.path)).toSorted()).toEqual([".turnlog", "one.jsonl"]);

    await using to = await temporaryFolder();
    for (const args of [[], ["--id", "two"]]) {
      const ended = await run(["import", from.at("one.jsonl"), ...args], { cwd: to.path });
      expect(ended).toMatchObject({ code: 0, stdout: "" });
    }
    const [, ...lines] = file.split("\n");
    for (const name of ["one", "two"]) {
      const [, ...again] = (await run(["export", name], { cwd: to.path })).stdout.split("\n");
      expect(again).toEqual(lines);
    }
    const third = ["import", from.at("one.jsonl"), "--id", "three", "--json"];
    const { stdout } = await run(third, { cwd: to.path });
    expect(jsonLines(stdout)).toEqual([{ session: "three", events: lines.length - 1 }]);
    expect(await run(["verify"], { cwd: to.path })).toMatchObject({ code: 0 });
  });

  it("make no store of a file that cannot be imported", async () => {
    await using folder = await temporaryFolder({ "broken.jsonl": "{}\n" });
    const ended = await run(["import", "broken.jsonl"], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain("[INVALID_INPUT]");
    expect(await readdir(folder.path)).toEqual(["broken.jsonl"]);
  });

  it("take a session that breaks a law by --no-verify, under the name that --id gives it", async () => {
    await using folder = await folderWith("one", await events());
    const { stdout } = await run(["export", "one"], { cwd: folder.path });
    const broken = stdout.replaceAll('"stop"', '"length"').replace('"turn":1', '"turn":7');
    await folder.write("broken.jsonl", broken);
    const two = ["import", "broken.jsonl", "--id", "two"];
    const refused = await run(two, { cwd: folder.path });
    expect(refused).toMatchObject({ code: 1 });
    expect(refused.stderr).toMatch(/--no-verify.*\[EVENT_INVALID\]/);
    expect(await run([...two, "--no-verify"], { cwd: folder.path })).toMatchObject({ code: 0 });
    const listed = await run(["sessions", "--json"], { cwd: folder.path });
    expect(listed.stdout.match(/"session":"\w+"/g)?.toSorted()).toEqual([
      '"session":"one"',
      '"session":"two"',
    ]);
    expect(await run(["verify", "two"], { cwd: folder.path })).toMatchObject({ code: 1 });
  });

  it("leave a session alone that has the name already, and a file that was there when nothing can be exported", async () => {
    await using folder = await folderWith("one", await events());
    await run(["export", "one", "--out", "one.jsonl"], { cwd: folder.path });
    const before = await readFile(folder.at("one.jsonl"), "utf8");
    const again = await run(["import", "one.jsonl"], { cwd: folder.path });
    expect(again).toMatchObject({ code: 1, stdout: "" });
    expect(again.stderr).toMatch(/--id.*\[REVISION_CONFLICT\]/);
    const nobody = await run(["export", "nobody", "--out", "one.jsonl"], { cwd: folder.path });
    expect(nobody.stderr).toContain("[SESSION_NOT_FOUND]");
    expect(await readFile(folder.at("one.jsonl"), "utf8")).toBe(before);
    expect((await readdir(folder.path)).toSorted()).toEqual([".turnlog", "one.jsonl"]);
  });
});

describe("messages of the AI SDK", () => {
  const messages = [
    { role: "system", content: "Be brief." },
    { role: "user", content: "Hello." },
    { role: "assistant", content: "Hello yourself." },
  ];
  const from = ["import", "messages.json", "--from", "model-messages"];

  it("are imported as a session, and their system message is shown", async () => {
    await using folder = await temporaryFolder({ "messages.json": JSON.stringify(messages) });
    const ended = await run([...from, "--id", "talk"], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 0, stdout: "" });
    expect(ended.stderr).toContain("Be brief.");
    const shown = await run(["show", "talk", "--view", "prompt", "--json"], { cwd: folder.path });
    expect(jsonLines(shown.stdout)).toMatchObject([
      {
        messages: [
          { role: "user", content: "Hello." },
          { role: "assistant", content: [{ type: "text", text: "Hello yourself." }] },
        ],
      },
    ]);
    expect(await run(["verify"], { cwd: folder.path })).toMatchObject({ code: 0 });
  });

  it("of a chat are imported, with a list of what was left out", async () => {
    const chat = [
      {
        id: "u1",
        role: "user",
        metadata: { a: 1 },
        parts: [
          { type: "text", text: "Hello." },
          { type: "data-\u001B[2J", data: 1 },
        ],
      },
      { id: "a1", role: "assistant", parts: [{ type: "text", text: "Hello yourself." }] },
    ];
    await using folder = await temporaryFolder({ "chat.json": JSON.stringify(chat) });
    const ended = await run(["import", "chat.json", "--from", "ui-messages", "--id", "talk"], {
      cwd: folder.path,
    });
    expect(ended).toMatchObject({ code: 0, stdout: "" });
    expect(ended.stderr).toContain(
      "Left out, because a session cannot hold it: 1 × metadata, 1 × data-",
    );
    expect(ended.stderr).toContain("1 × id.");
    expect(ended.stderr).not.toContain("\u001B[2J");
    const again = ["import", "chat.json", "--from", "ui-messages", "--id", "two", "--json"];
    again.push("--metadata", "team=support");
    const json = await run(again, { cwd: folder.path });
    expect(jsonLines(json.stdout)).toMatchObject([
      { session: "two", dropped: [{ what: "metadata" }, {}, { message: 1, id: "a1", what: "id" }] },
    ]);
    const chosen = await run(["delete", "--where", "team=support", "--dry-run"], {
      cwd: folder.path,
    });
    expect(chosen.stdout).toContain("two");
  });

  it("need a name, and must be messages", async () => {
    await using folder = await temporaryFolder({ "messages.json": JSON.stringify(messages) });
    expect(await run(from, { cwd: folder.path })).toMatchObject({ code: 2, stdout: "" });
    for (const wrong of ["{ not JSON", '[{ "role": "nobody" }]']) {
      await folder.write("messages.json", wrong);
      const ended = await run([...from, "--id", "talk"], { cwd: folder.path });
      expect(ended).toMatchObject({ code: 1, stdout: "" });
      expect(ended.stderr).toContain("[INVALID_INPUT]");
    }
    const more = await run([...from, "--id", "talk", "--no-verify"], { cwd: folder.path });
    expect(more).toMatchObject({ code: 2, stdout: "" });
    for (const none of ["none.json", "."]) {
      const ended = await run(["import", none, "--id", "talk"], { cwd: folder.path });
      expect(ended).toMatchObject({ code: 2, stdout: "" });
      expect(ended.stderr).toContain("cannot be read");
    }
    expect(await readdir(folder.path)).toEqual(["messages.json"]);
  });
});

describe("a log of another program", () => {
  const hi = { role: "user", content: "Hi" };
  const call = {
    role: "assistant",
    tool_calls: [{ id: "1", function: { name: "f", arguments: "{}" } }],
  };
  const lines = [
    { messages: [{ role: "system", content: "Be brief." }, hi] },
    { messages: [hi, call] },
  ];
  const file = lines.map((line) => `${JSON.stringify(line)}\n`).join("\n");

  it("is as many sessions as it has conversations, and seen for what it is", async () => {
    await using folder = await temporaryFolder({ "calls.jsonl": file });
    const ended = await run(["import", "calls.jsonl", "--id", "talk"], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 0, stdout: "" });
    expect(ended.stderr).toMatch(/^Imported 2 sessions, talk-1 to talk-2, with \d+ events\.\n/);
    expect(ended.stderr).toContain("Be brief.");
    expect(await run(["verify"], { cwd: folder.path })).toMatchObject({ code: 0 });
    const again = ["import", "calls.jsonl", "--from", "openai", "--id", "two", "--json"];
    const { stdout } = await run(again, { cwd: folder.path });
    expect(jsonLines(stdout)).toMatchObject([
      { session: "two-1", instructions: "Be brief.", dropped: [] },
      { session: "two-2", instructions: "", dropped: [] },
    ]);
  });

  it("is imported by the process that has the store open", async () => {
    await using folder = await temporaryFolder({ "calls.jsonl": file });
    await using runtime = await createRuntime({
      dir: folder.at(".turnlog"),
      agent: { model: scriptedModel([]) },
    });
    const ended = await run(["import", "calls.jsonl", "--id", "talk"], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 0 });
    expect((await Array.fromAsync(runtime.log.list())).map(({ session }) => session)).toEqual([
      "talk-1",
      "talk-2",
    ]);
  });

  it("says which sessions it brought before one that exists, and which line is no JSON", async () => {
    await using folder = await temporaryFolder({
      "calls.jsonl": file,
      "cut.jsonl": `${file}{"mess`,
    });
    const one = ["import", "-", "--id", "talk-2"];
    await runProcess(one, { cwd: folder.path, input: JSON.stringify([hi]) });
    const ended = await run(["import", "calls.jsonl", "--id", "talk"], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 1 });
    expect(ended.stderr).toMatch(/Imported session talk-1 with[^]*talk-2 already exists/);
    const cut = await run(["import", "cut.jsonl", "--id", "cut"], { cwd: folder.path });
    expect(cut.stderr).toMatch(/Line 4 of .*cut\.jsonl is not JSON/);
  });
});

describe("import -", () => {
  it("reads stdin, media and a byte order mark too", async () => {
    const shot = png({ width: 90, height: 60, seed: 1 });
    await using from = await temporaryFolder();
    {
      await using log = await openLog({ dir: from.at(".turnlog"), durability: "os" });
      const agent = { model: scriptedModel(["Seen."]) };
      await using runtime = await createRuntime({ log, agent });
      const session = await runtime.session("one");
      const turn = await session.send([{ type: "file", data: shot, mediaType: "image/png" }]);
      await turn.result;
    }
    const { stdout: input } = await run(["export", "one"], { cwd: from.path });
    await using to = await temporaryFolder();
    const at = { cwd: to.path, input: `\uFEFF${input}` };
    expect(await runProcess(["import", "-"], at)).toMatchObject({ code: 0, stdout: "" });
    expect((await run(["export", "one"], { cwd: to.path })).stdout).toBe(input);
    expect(await run(["verify"], { cwd: to.path })).toMatchObject({ code: 0 });

    const messages = '\uFEFF[{ "role": "user", "content": "Hello." }]\n';
    const talk = ["import", "-", "--from", "model-messages", "--id", "talk"];
    expect(await run(talk, { ...at, input: messages })).toMatchObject({ code: 0 });
    await to.write("marked.jsonl", `\uFEFF${input}`);
    const again = ["import", "marked.jsonl", "--id", "two"];
    expect(await run(again, { cwd: to.path })).toMatchObject({ code: 0 });
  });
});

/** Imports the file and kills the process at the n-th change of the store's files. */
async function importKilledAt(folder: TemporaryFolder, change: number): Promise<void> {
  let changes = 0;
  const importing = start(["import", "large.jsonl"], { cwd: folder.path });
  const watcher = watch(folder.at(".turnlog/log"), () => {
    changes += 1;
    if (changes === change) importing.child.kill("SIGKILL");
  });
  await importing.ended;
  watcher.close();
}

describe.skipIf(!all)(`an import that is killed${inAll}`, () => {
  let recorded: readonly NewEvent[];
  let length: number;
  let file: string;

  beforeAll(async () => {
    const deltas = Array.from({ length: 20_000 }, (_, at): NewEvent => {
      // Metadata keeps each of them in a row of its own.
      const data = { id: "0", text: `${at} ${"word ".repeat(at % 20)}`, providerMetadata: {} };
      return { type: "part.text-delta", time: at, data };
    });
    recorded = await readFixture("tools");
    const last = recorded.findLastIndex(({ type }) => type === "part.text-end");
    const large = [...recorded.slice(0, last), ...deltas, ...recorded.slice(last)];
    length = large.length;
    await using log = await openMemoryLog();
    await log.append("large", "none", large, { origin: "copied" });
    const lines = await Array.fromAsync(exportSession(log, "large"));
    file = `${lines.join("\n")}\n`;
  });

  it("before it has read the last line has written nothing", async () => {
    await using folder = await folderWith("other", recorded);
    // A pipe, so that the end of the file is for the test to give.
    execFileSync("mkfifo", [folder.at("large.jsonl")]);
    const importing = start(["import", "large.jsonl"], { cwd: folder.path });
    const pipe = await open(folder.at("large.jsonl"), "w");
    // Taken but for what a pipe holds.
    await pipe.writeFile(file.slice(0, file.lastIndexOf("\n", file.length - 2)));
    importing.child.kill("SIGKILL");
    expect(await importing.ended).toMatchObject({ signal: "SIGKILL" });
    await pipe.close();
    await using log = await openLog({ dir: folder.at(".turnlog") });
    expect(await log.revision("large")).toBe(0);
    expect(await log.revision("other")).toBe(recorded.length);
  });

  it(
    "while it writes has written the whole session or nothing of it",
    async () => {
      for (let kill = 1; kill <= times(2, 5); kill++) {
        await using folder = await folderWith("other", recorded);
        await folder.write("large.jsonl", file);
        await importKilledAt(folder, kill * 3);
        await using log = await openLog({ dir: folder.at(".turnlog") });
        expect([0, length]).toContain(await log.revision("large"));
        const { sessions, problems } = await verifyLog(log);
        expect(problems).toEqual([]);
        expect(sessions.flatMap((session) => session.problems)).toEqual([]);
      }
    },
    patience,
  );
});

describe("export --fixture", () => {
  it("writes a file without secrets that can be imported, and removes the given patterns", async () => {
    const [created, queued, ...rest] = await readFixture("tools");
    if (created === undefined || queued?.type !== "message.queued") throw new Error("Too short.");
    const content = "Plan a journey to Ulm for Ada. token: 0123456789abcdef";
    const told = [created, { ...queued, data: { ...queued.data, content } }, ...rest];
    await using from = await folderWith("one", told);
    const args = ["export", "one", "--fixture", "talk.jsonl", "--redact", "Ada", "Bonn"];
    const { code, stdout, stderr } = await run(args, { cwd: from.path });
    expect({ code, stdout }).toEqual({ code: 0, stdout: "" });
    expect(stderr).toContain("talk.jsonl");
    const file = await readFile(from.at("talk.jsonl"), "utf8");
    expect(file).toContain("[redacted]. token: [secret]");
    expect(file).not.toMatch(/Ada|Bonn|0123456789abcdef/);
    expect(jsonLines(file)[0]).toMatchObject({ fixture: { redacted: ["named-secrets", "own"] } });
    expect(await run(["import", "talk.jsonl"], { cwd: from.path })).toMatchObject({ code: 0 });
    expect(await run(["verify", "fixture"], { cwd: from.path })).toMatchObject({ code: 0 });
  });

  it("refuses an invalid pattern, and options that do not go together", async () => {
    await using from = await folderWith("one", await readFixture("parallel"));
    for (const [args, said] of [
      [["one", "--fixture", "--redact", "("], /\( is not a regular expression/],
      [["one", "--redact", "Ada"], /--redact is only for fixtures/],
      [["one", "--fixture", "a.jsonl", "--out", "b.jsonl"], /both name a file/],
      [["one", "two"], /One session is exported at a time: one, two\./],
      [["--fixture", "one"], /took one as its file\. Name the session before it/],
      [["--redact", "Ada"], /No session is named/],
    ] as const) {
      const ended = await run(["export", ...args], { cwd: from.path });
      expect(ended).toMatchObject({ code: 2, stdout: "" });
      expect(ended.stderr).toMatch(said);
    }
    const { stdout } = await run(["export", "one", "--fixture"], { cwd: from.path });
    expect(jsonLines(stdout).length).toBe((await readFixture("parallel")).length + 1);
    const first = ["export", "--redact", "Ada", "--redact", "Bonn", "one", "--fixture"];
    const before = await run(first, { cwd: from.path });
    expect(jsonLines(before.stdout).length).toBe(jsonLines(stdout).length);
  });
});
