/** Every command, on a store whose texts and names are meant for the terminal, into each kind of reader. */

import { cp, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { tool } from "ai";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import { commandLine } from "../../src/cli/program.ts";
import {
  createRuntime,
  exportSession,
  folderKeys,
  openLog,
  type Agent,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { all, sampled } from "../support/runs.ts";
import { call } from "../support/script.ts";
import { jsonLines, run, runProcess } from "./command-line.ts";
import { HOSTILE, NAME, obeyed } from "./hostile-words.ts";
import { recordedOutput } from "./recorded-output.ts";
import { temporaryFolder, type TemporaryFolder } from "./temporary-folder.ts";

let folder: TemporaryFolder;
let copies = 0;

beforeAll(async () => {
  folder = await temporaryFolder({});
  const keys = folderKeys(join(folder.path, "keys"));
  for (const store of ["plain", "encrypted"]) {
    await using runtime = await createRuntime({
      dir: join(folder.path, store),
      agent: hostileAgent(),
      ...(store === "encrypted" ? { encryption: { keys } } : {}),
    });
    const session = await runtime.session("s");
    await (
      await session.send(NAME)
    ).result;
    // One call waits for people, one message for its turn.
    await (await session.send("pay")).untilRest();
    await session.send(NAME);
  }
  await using log = await openLog({ dir: join(folder.path, "plain"), readOnly: true });
  const lines = await Array.fromAsync(exportSession(log, "s"));
  await writeFile(join(folder.path, "s.jsonl"), `${lines.join("\n")}\n`);
  const chat = [{ id: NAME, role: "user", metadata: NAME, parts: [{ type: "text", text: NAME }] }];
  await writeFile(join(folder.path, "chat.json"), JSON.stringify(chat));
  const agent = `export const agent = { model: "offline", instructions: ${JSON.stringify(NAME)} };\n`;
  await writeFile(join(folder.path, "agent.mjs"), agent);
});

afterAll(async () => {
  await folder[Symbol.asyncDispose]();
});

function hostileAgent(): Agent {
  const model = scriptedModel([
    {
      parts: [
        { type: "reasoning", deltas: [HOSTILE] },
        { type: "text", deltas: [HOSTILE] },
        call("look", `c${NAME}`, { path: NAME }),
        call(`no${NAME}`, "n", { path: NAME }),
      ],
    },
    { parts: [call("look", "f", { path: "fail" })] },
    { parts: [{ type: "text", deltas: [`Done ${NAME}`] }] },
    { parts: [call("pay", `p${NAME}`, { path: NAME })] },
  ]);
  const inputSchema = z.object({ path: z.string() });
  return {
    instructions: NAME,
    model: { ...model, provider: `p${NAME}`, modelId: `m${NAME}` },
    tools: {
      look: tool({
        inputSchema,
        execute: ({ path }) => {
          if (path === "fail") throw new Error(NAME);
          return { [NAME]: HOSTILE };
        },
      }),
      // oxlint-disable-next-line typescript/no-deprecated
      pay: tool({ inputSchema, needsApproval: true, execute: () => NAME }),
    },
  };
}

interface Use {
  readonly words: readonly string[];
  /** Which copy of a store it works on. */
  readonly store?: "plain" | "encrypted";
  /** It prints what a model said, which may have lines of its own. */
  readonly hasTexts?: boolean;
}

const use = (...words: readonly string[]): Use => ({ words });
const unknown = `x${NAME}`;

/** By the name of the command: one that is not here makes the first test fail. */
const uses: Readonly<Record<string, readonly Use[]>> = {
  chat: [{ ...use("--session", "s", NAME), hasTexts: true }],
  init: [use(`./${unknown}`), use("./plain", "--yes"), use("./agent.mjs")],
  serve: [use("--agent", `./${unknown}`), use("--host", unknown)],
  acp: [use("--agent", `./${unknown}`)],
  "mcp-server": [use("--agent", `./${unknown}`)],
  studio: [
    use("--agent", `./${unknown}`, "--no-open"),
    use("--agent", "./agent.mjs", "--demo", "--no-open"),
  ],
  rerun: [{ ...use("s"), hasTexts: true }, use(unknown)],
  fork: [use("s", "--position", "4"), use("s", "--id", unknown), use(unknown)],
  sessions: [use()],
  show: [
    ...["events", "history", "prompt", "state", "usage", "timeline"].map((view) =>
      use("s", "--view", view, "--full"),
    ),
    use(unknown),
  ],
  branches: [use("s"), use(unknown)],
  rewind: [
    use("s", "--before-turn", "1"),
    use("s", "--before-message", unknown),
    use(unknown, "--to", "2"),
  ],
  checkout: [use("s", "1"), use(unknown, "1")],
  context: [use("s"), use(unknown)],
  bill: [use("s"), use("--by", "model,agent,day"), use("--by", "model", "--csv"), use(unknown)],
  diff: [use("s", "2", "30"), use(unknown, "1", "2")],
  log: [use(), use("--session", unknown)],
  verify: [use(), use("s"), use(unknown)],
  replay: [
    { ...use("s"), hasTexts: true },
    use("s", "--check", "--agent", "./agent.mjs"),
    use("s", "--check", "--agent", `./${unknown}`),
  ],
  compare: [
    use("s", "--agent", "./agent.mjs", "--model", "offline"),
    use(unknown, "--agent", "./agent.mjs"),
    use("s", "--agent", `./${unknown}`),
    use("--where", `${NAME}=${NAME}`, "--agent", "./agent.mjs"),
    use("--file", `./${unknown}`, "--agent", "./agent.mjs"),
  ],
  send: [use("s", NAME, "--delivery", "steer"), use(unknown, "Hello")],
  regenerate: [use("s"), use("s", "--message-id", unknown)],
  withdraw: [use("s", unknown, "--reason", NAME), use(unknown, "m")],
  reschedule: [use("s", unknown, "--delivery", "steer"), use("s", "m", "--not-before", NAME)],
  resume: [use("s"), use(unknown)],
  cancel: [use("s", "--reason", NAME), use(unknown)],
  allow: [use("s", "--tokens", "5"), use("s", "--tokens", NAME)],
  approve: [use("s", unknown, "--always"), use("s", "m", "--content", NAME)],
  deny: [use("s", unknown, "--reason", NAME)],
  "answer-call": [use("s", unknown, "--output", JSON.stringify(NAME)), use("s", "m")],
  "forget-approval": [use("s", unknown), use(unknown, "pay")],
  compact: [use("s"), use(unknown)],
  restore: [use("s"), use("s", "3")],
  configure: [use("s", "--agent", unknown)],
  "set-metadata": [use("s", JSON.stringify({ [NAME]: NAME })), use("s", NAME)],
  "set-title": [use("s", NAME), use(unknown, "a")],
  close: [use("s", NAME), use(unknown)],
  export: [use("s", "--out", `./out${HOSTILE}.jsonl`), use("s", "--fixture", "./fixture.jsonl")],
  import: [
    use("./s.jsonl", "--id", "again"),
    use("./s.jsonl", "--id", unknown),
    use("./chat.json", "--from", "ui-messages", "--id", "talk"),
    use("./agent.mjs"),
    use(`./${unknown}`),
  ],
  delete: [
    use("s", "--yes", "--cancel"),
    use("s"),
    use(unknown, "--yes"),
    use("--older-than", "0d", "--where", `${NAME}=${NAME}`, "--dry-run"),
    use("--older-than", "2100-01-01", "--yes"),
  ],
  redact: [
    { ...use("s", "4-20", "--yes", "--reason", NAME), store: "encrypted" },
    use("s", "4", "--yes"),
  ],
  backup: [use(`./backup${HOSTILE}`), use("./plain")],
  copy: [use("--from", "./plain", "--to", "./copied"), use("--from", unknown, "--to", "./copied")],
  postgres: [use("migrate", "--sql"), use("migrate")],
  "rotate-keys": [use(), { ...use(), store: "encrypted" }],
  gc: [use()],
  repair: [use()],
  completion: [use("bash"), use(unknown)],
  help: [use("show"), use(unknown)],
};

/** They print a text for a person or a shell. */
const texts = new Set(["help", "completion"]);

it("every command is used here", () => {
  const output = recordedOutput(false);
  const names = commandLine(output, () => {}).commands.map((command) => command.name());
  expect(Object.keys(uses).toSorted()).toEqual(names.toSorted());
});

/** Runs a command on a copy of the store, and says what it wrote. */
async function written(
  name: string,
  { words, store = "plain" }: Use,
  reader: "process" | "pipe" | "terminal",
  options: readonly string[] = [],
): Promise<{ readonly data: string; readonly progress: string }> {
  const cwd = join(folder.path, String((copies += 1)));
  for (const file of [store, "keys", "s.jsonl", "chat.json", "agent.mjs"])
    await cp(join(folder.path, file), join(cwd, file), { recursive: true });
  const keys = store === "encrypted" ? ["--keys", join(cwd, "keys")] : [];
  // A copy names its stores itself.
  const dir = name === "copy" ? [] : ["--dir", join(cwd, store)];
  const paths = words.map((word) => (word.startsWith("./") ? join(cwd, word) : word));
  const args = [...dir, ...keys, ...options, name, ...paths];
  const { stdout, stderr } =
    reader === "process"
      ? await runProcess(args, { cwd })
      : await run(args, { cwd, output: recordedOutput(reader === "terminal", reader === "pipe") });
  return { data: stdout, progress: stderr };
}

/** Our own looks, which the looks of the session are not, and how we draw rows anew. */
const looks =
  // oxlint-disable-next-line no-control-regex
  /\u001B\[(?:0|1|2|3|22|23|3[1-6]|39)m|\u001B\[\?2026[hl]|\r(?:\u001B\[\d+A)?\u001B\[J/gm;

describe.each(Object.entries(uses).map(([name, ways], place) => [name, ways, place] as const))(
  "%s",
  (name, ways, place) => {
    const named = ways.map(
      (way) => [JSON.stringify(way.words.join(" ")).slice(0, 40), way] as const,
    );
    it.each(sampled(named, 1))("gives a terminal nothing to obey: %s", async (_words, way) => {
      assertSafe(await written(name, way, "terminal"), way);
    });

    const [first] = ways;
    if (first === undefined) return;
    it("gives a pipe nothing to obey, and JSON that is as safe", async () => {
      // A real pipe for one of four commands; in a long run for each, in `npm test` for none.
      const reader = all && sampled([name], 4, place).length > 0 ? "process" : "pipe";
      const plain = await written(name, first, reader);
      assertSafe(plain, first);
      const json = await written(name, first, "pipe", ["--json"]);
      assertSafe(json, first);
      if (texts.has(name)) return;
      // Whatever prints data prints it as JSON too.
      const values = jsonLines(json.data);
      expect(plain.data === "" || values.length > 0).toBe(true);
    });
  },
);

function assertSafe(
  { data, progress }: { readonly data: string; readonly progress: string },
  { hasTexts = false }: Use,
): void {
  expect(data + progress).not.toBe("");
  expect(data.replaceAll(looks, "")).not.toMatch(obeyed);
  expect(progress.replaceAll(looks, "")).not.toMatch(obeyed);
  // The lines of a reply are the model's; the last one may be drawn again.
  const notes = progress.replaceAll(looks, "").replaceAll(/Done .*\n(?:error: forged)+/g, "");
  expect(hasTexts ? notes : data + notes).not.toMatch(/^error: forged/m);
}

it("what commander says of words that it does not know is as safe", async () => {
  for (const args of [
    ["show", "s", "--view", unknown],
    [`--${unknown}`, "show"],
    ["gc", unknown],
  ]) {
    const { code, stderr } = await runProcess(args, { cwd: folder.path });
    expect(code).toBe(2);
    expect(stderr).toContain("evil");
    expect(stderr).not.toMatch(obeyed);
    expect(stderr).not.toMatch(/^error: forged/m);
  }
});
