/** `sessions` and `show`: they tell what a store holds, and change nothing. */
import { readdir } from "node:fs/promises";
import { beforeAll, afterAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { createRuntime, type Runtime } from "../../src/runtime/index.ts";
import { offlineModel } from "../../src/models/index.ts";
import { jsonLines, run, runProcess, sessionOf, type Ended } from "./command-line.ts";
import { readEvents } from "./events.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

let folder: TemporaryFolder;
let session: string;
let turn: Ended;

beforeAll(async () => {
  folder = await temporaryFolder({ "a.ts": "zod\n", "b.ts": "zod\nzod\n" });
  turn = await run(["which files mention zod?", "--json"], { cwd: folder.path });
  session = sessionOf(turn);
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

async function show(...args: readonly string[]): Promise<Ended> {
  const ended = await run(["show", session, ...args], { cwd: folder.path });
  expect(ended).toMatchObject({ code: 0, stderr: "" });
  return ended;
}

async function showJson(...args: readonly string[]): Promise<readonly unknown[]> {
  return jsonLines((await show(...args, "--json")).stdout);
}

/** The position of the first event of a type. */
function positionOf(type: string): number {
  const found = readEvents(jsonLines(turn.stdout)).find((event) => event.type === type);
  return found?.position ?? Number.NaN;
}

describe("sessions", () => {
  it("lists each session with its title, its turns and its tokens", async () => {
    const { code, stdout } = await run(["sessions"], { cwd: folder.path });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      new RegExp(
        `^${session}  \\d{4}-\\d\\d-\\d\\d \\d\\d:\\d\\d  idle  1 turn  [\\d,]+ tokens  which files mention zod\\?$`,
        "m",
      ),
    );
  });

  it("prints one JSON value a session, the newest first", async () => {
    await using other = await temporaryFolder({ "a.ts": "zod\n" });
    for (const name of ["a-first", "b-second"]) {
      await run(["--session", name, "list all files"], { cwd: other.path });
    }
    const { stdout } = await run(["sessions", "--json"], { cwd: other.path });
    const listed = z
      .array(
        z.looseObject({
          session: z.string(),
          title: z.string(),
          turns: z.int(),
          revision: z.int(),
        }),
      )
      .parse(jsonLines(stdout));
    expect(listed).toMatchObject([
      { session: "b-second", title: "list all files", turns: 1 },
      { session: "a-first", title: "list all files", turns: 1 },
    ]);
  });

  it("takes --dir before and after the command", async () => {
    await using elsewhere = await temporaryFolder();
    const dir = folder.at(".turnlog");
    for (const args of [
      ["--dir", dir, "sessions"],
      ["sessions", "--dir", dir],
    ]) {
      const { stdout } = await run(args, { cwd: elsewhere.path });
      expect(stdout).toContain(session);
    }
  });
});

describe("show", () => {
  it("shows the history as a conversation, unless another view is asked for", async () => {
    const { stdout } = await show();
    expect(stdout).toMatch(/^ *\d+ {2}> which files mention zod\?$/m);
    expect(stdout).toMatch(/^ *\d+ {2}→ search_files query="zod"/m);
    expect(stdout).toMatch(/^ *\d+ {2}✓ search_files · 3 matches/m);
    expect(stdout).toContain("- b.ts (lines 1, 2)");
    expect(stdout).toMatch(/^Turn 1 · /m);
    expect((await show("--view", "history")).stdout).toBe(stdout);
  });

  it("shows every event on one line", async () => {
    const { stdout } = await show("--view", "events");
    const lines = stdout.trimEnd().split("\n");
    const events = readEvents(await showJson("--view", "events"));
    expect(lines).toHaveLength(events.length);
    for (const [index, { position, type }] of events.entries()) {
      expect(lines[index]).toMatch(new RegExp(`^ *${position}  [\\d:.]+  ${type} +\\{`));
    }
    expect(events.map(({ position }) => position)).toEqual(events.map((_, index) => index + 1));
  });

  it("shows the prompt that the next step would send", async () => {
    const { stdout } = await show("--view", "prompt");
    expect(stdout).toMatch(/^user\n {2}which files mention zod\?/m);
    expect(stdout).toMatch(/^tool\n {2}\(result /m);
    expect(stdout).toMatch(/^instructions\n/m);
    expect(stdout).toMatch(/^tool read_file\n {2}\{/m);
    const roles = async (...given: readonly string[]): Promise<readonly string[]> => {
      const [prompt] = z
        .array(z.looseObject({ messages: z.array(z.looseObject({ role: z.string() })) }))
        .parse(await showJson("--view", "prompt", ...given));
      return prompt?.messages.map(({ role }) => role) ?? [];
    };
    expect(await roles()).toEqual(["user", "assistant", "tool", "assistant"]);
    expect(await roles("--step", "1")).toEqual(["user"]);
    expect(await roles("--step", "2")).toEqual(["user", "assistant", "tool"]);
    const absent = await run(["show", session, "--view", "prompt", "--step", "9"], {
      cwd: folder.path,
    });
    expect(absent.stderr).toContain("has no step 9: its steps are 1 to 2");
  });

  it("shows the machine's state", async () => {
    const { stdout } = await show("--view", "state");
    expect(stdout).toContain(`${session} at `);
    expect(stdout).toContain("idle.waiting");
    expect(await showJson("--view", "state")).toMatchObject([
      {
        session,
        value: { idle: "waiting" },
        context: { turn: 1, step: 2 },
        queue: [],
        openCalls: [],
      },
    ]);
  });

  it("shows what each step has cost; the steps add up to the total", async () => {
    const { stdout } = await show("--view", "usage");
    expect(stdout).toMatch(/^turn 1 {2}step 2 {2}[\d,]+ in, [\d,]+ out.* turnlog:offline$/m);
    const spent = z.looseObject({ inputTokens: z.number(), outputTokens: z.number() });
    const [usage] = z
      .tuple([z.looseObject({ total: spent, steps: z.array(z.looseObject({ usage: spent })) })])
      .parse(await showJson("--view", "usage"));
    expect(usage.steps).toHaveLength(2);
    const input = usage.steps.reduce((sum, step) => sum + step.usage.inputTokens, 0);
    expect(usage.total.inputTokens).toBe(input);
  });

  it("shows the session as it stood at a position, in every view", async () => {
    const at = positionOf("tool.started");
    const place = ["--position", String(at)];
    const events = readEvents(await showJson("--view", "events", ...place));
    expect(events.at(-1)).toMatchObject({ position: at, type: "tool.started" });
    expect(await showJson("--view", "state", ...place)).toMatchObject([
      {
        position: at,
        value: "tools",
        openCalls: [{ toolName: "search_files", status: "running" }],
      },
    ]);
    const history = await showJson("--view", "history", ...place);
    expect(history).toHaveLength(2);
    expect((await show(...place)).stdout).toMatch(/→ search_files .*\n$/);
    const prompt = await show("--view", "prompt", ...place);
    expect(prompt.stdout).not.toContain("b.ts");
    const [usage] = z
      .tuple([z.looseObject({ steps: z.array(z.unknown()) })])
      .parse(await showJson("--view", "usage", ...place));
    expect(usage.steps).toHaveLength(1);
  });
});

describe("diff", () => {
  it("says what the model is shown at one position and not at another, and what is still cached", async () => {
    const [before, after] = ["part.tool-call", "tool.succeeded"].map(positionOf);
    const args = ["diff", session, String(before), String(after)];
    const text = await run(args, { cwd: folder.path });
    expect(text).toMatchObject({ code: 0, stderr: "" });
    expect(text.stdout).toContain(
      `${session} from ${before} (3 messages) to ${after} (3 messages)`,
    );
    expect(text.stdout).toMatch(
      /^~ 3 tool, continued\n- {2}\(result .* not been started.*\n\+ {2}\(result .*b\.ts/m,
    );
    expect(text.stdout).toContain("applies up to message 2, but not from message 3 on.");
    const { stdout } = await run([...args, "--json"], { cwd: folder.path });
    expect(jsonLines(stdout)).toMatchObject([
      { session, before, after, cacheBreak: 2, changes: [{ kind: "changed", why: "continued" }] },
    ]);
  });

  it("refuses a position that does not exist", async () => {
    const ended = await run(["diff", session, "1", "99999"], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain("[INVALID_INPUT]");
    for (const [one, other] of [
      ["1", "two"],
      ["one", "2"],
    ] as const) {
      const nonsense = await run(["diff", session, one, other], { cwd: folder.path });
      expect(nonsense).toMatchObject({ code: 2, stdout: "" });
    }
  });

  it("says what another session did instead", async () => {
    const cwd = folder.path;
    expect(await run(["diff", session, "nobody"], { cwd })).toMatchObject({ code: 1, stdout: "" });
    const same = await run(["diff", session, session], { cwd });
    expect(same).toMatchObject({ code: 0, stderr: "" });
    expect(same.stdout).toMatch(/^= Turn 1: /m);
    expect(same.stdout).not.toContain("~ ");
    expect(same.stdout).toMatch(/^= \d+ steps? · /m);
    expect(await run(["--session", "other", "hello"], { cwd })).toMatchObject({ code: 0 });
    const { stdout, code } = await run(["diff", session, "other"], { cwd });
    expect(code).toBe(0);
    expect(stdout).toMatch(
      /^~ Turn 1: .*\n {3}Turn 1 begins with another message: it is "hello" and was /m,
    );
    expect(stdout).toMatch(/^- \d+ steps? · .*\n\+ 1 step · 0 calls · /m);
    const json = jsonLines((await run(["diff", session, "other", "--json"], { cwd })).stdout);
    expect(json).toMatchObject([
      {
        recorded: { session },
        candidate: { session: "other", totals: { steps: 1 } },
        verdict: "different",
        turns: [{ turn: 1 }],
      },
    ]);
  });
});

describe("what cannot be shown", () => {
  it("refuses a session that does not exist, with the code and how to find one", async () => {
    const ended = await run(["show", "nobody"], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toMatch(
      /^error: There is no session nobody.*turnlog sessions.*\[SESSION_NOT_FOUND\]\n$/,
    );
    const { stdout } = await run(["sessions"], { cwd: folder.path });
    expect(stdout).not.toContain("nobody");
  });

  it("refuses a position that the session has not reached", async () => {
    const ended = await run(["show", session, "--position", "99999"], { cwd: folder.path });
    expect(ended).toMatchObject({ code: 1, stdout: "" });
    expect(ended.stderr).toContain("[INVALID_INPUT]");
  });

  it.each([["sessions"], ["show one"], ["repair"]])(
    "refuses a folder without a store and makes none: %s",
    async (command) => {
      await using empty = await temporaryFolder({ "a.txt": "a" });
      const asIs = await run(command.split(" "), { cwd: empty.path });
      expect(asIs).toMatchObject({ code: 1, stdout: "" });
      expect(asIs.stderr).toMatch(/^error: There is no store in .*\[LOG_NOT_FOUND\]\n$/);
      const named = await run([...command.split(" "), "--dir", "."], { cwd: empty.path });
      expect(named.stderr).toContain("[LOG_NOT_FOUND]");
      expect(await readdir(empty.path)).toEqual(["a.txt"]);
    },
  );

  it("tells the stack only with --debug", async () => {
    const plain = await run(["show", "nobody"], { cwd: folder.path });
    expect(plain.stderr).not.toMatch(/^\s+at /m);
    const debug = await run(["show", "nobody", "--debug"], { cwd: folder.path });
    expect(debug.stderr).toMatch(/^\s+at /m);
  });

  it("names the process that has the store open", async () => {
    await using busy = await temporaryFolder();
    const dir = busy.at(".turnlog");
    await using runtime: Runtime = await createRuntime({ dir, agent: { model: offlineModel() } });
    await runtime.session("one");
    for (const args of [["sessions"], ["show", "one"], ["list all files"], ["repair"]]) {
      const ended = await runProcess(args, { cwd: busy.path });
      expect(ended).toMatchObject({ code: 1, stdout: "" });
      expect(ended.stderr).toMatch(new RegExp(`process ${process.pid} .*\\[LOG_LOCKED\\]`));
    }
  });
});
