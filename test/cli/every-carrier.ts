/**
 * The whole command line on the sessions of a store, however they are reached: in a folder that nobody has open,
 * through the process that has it open, in a database, or on a server. What a command prints is the same.
 */

import { writeFile } from "node:fs/promises";
import { expect } from "vitest";
import { z } from "zod";
import {
  createRuntime,
  folderKeys,
  type Runtime,
  type RuntimeOptions,
} from "../../src/public/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { all } from "../support/runs.ts";
import { jsonLines, run } from "./command-line.ts";
import type { TemporaryFolder } from "./temporary-folder.ts";

export interface Carrier {
  readonly folder: TemporaryFolder;
  /** The options that name the sessions. */
  readonly options: readonly string[];
  readonly env?: Readonly<Record<string, string>>;
}

/** Opens the sessions of a carrier's store for a program; their texts have keys. */
export async function openRuntime(
  folder: TemporaryFolder,
  store:
    | { readonly dir: string }
    | { readonly log: Extract<RuntimeOptions, { log: unknown }>["log"] },
): Promise<Runtime> {
  const replies = Array.from({ length: 40 }, (_, index) => ({
    parts: [{ type: "text" as const, deltas: [`Reply ${index}.`] }],
  }));
  let time = 1_700_000_000_000;
  return await createRuntime({
    ...store,
    agent: { model: scriptedModel(replies), instructions: "Be brief." },
    testing: { clock: () => (time += 1000) },
    encryption: { keys: folderKeys(folder.at("keys")) },
  });
}

/** The sessions that every carrier begins with. */
export async function prepare(runtime: Runtime): Promise<void> {
  for (const [id, ...texts] of [
    ["s", "Hello from s", "And more", "And the last"],
    ["gone", "Hello from gone"],
    ["old", "Hello from old"],
  ]) {
    const session = await runtime.session(id, { metadata: { team: id ?? "" } });
    for (const [index, text] of texts.entries())
      await (
        await session.send(text, { id: `${id}-${index}` })
      ).result;
  }
}

/**
 * Without what differs: times, the cost, which only a process with the agent knows, and the ids of commands that
 * several processes may get.
 */
function plain(text: string): unknown {
  const same = text
    .replaceAll(/\b1[78]\d{11}\b/g, "0")
    .replaceAll(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?Z?)?/g, "<date>")
    .replaceAll(/,"id":"turnlog\.command:[^"]*"|"id":"turnlog\.command:[^"]*",/g, "")
    .replaceAll(/,"cost":\{"dollars":0,"basis":"measured","unpriced":\d+\}\}$/gm, "}");
  return text.startsWith("{") ? jsonLines(same) : same;
}

export type Printed = Readonly<Record<string, unknown>>;

/** Runs the whole command line, and returns what each command printed, by the command. */
export async function everyCommand({ folder, options, env = {} }: Carrier): Promise<Printed> {
  const printed: Record<string, unknown> = {};
  const done = async (...args: readonly string[]): Promise<string> => {
    const { code, stdout, stderr } = await run([...args, ...options], { cwd: folder.path, env });
    const failure = code === 0 ? "" : stderr;
    expect({ args, code, failure }).toEqual({ args, code: 0, failure: "" });
    // The clocks of the processes differ, and the list is sorted by time.
    printed[args.join(" ")] = plain(
      args[0] === "sessions" ? stdout.split("\n").toSorted().join("\n").trimStart() : stdout,
    );
    return stdout;
  };
  const refused = async (...args: readonly string[]): Promise<void> => {
    const { code, stderr } = await run([...args, ...options], { cwd: folder.path, env });
    // Not the code of a warning, which another runtime of this process may print.
    const [, error = stderr] = /^error:.*?(\[[A-Z_]+\])/ms.exec(stderr) ?? [];
    printed[args.join(" ")] = `${code} ${error}`;
  };
  const look = async (): Promise<void> => {
    await done("sessions", "--json");
    for (const view of ["events", "history", "prompt", "state", "usage", "timeline"])
      await done("show", "s", "--view", view, "--json");
    await done("show", "s", "--position", "5");
    await done("branches", "s", "--json");
    await done("diff", "s", "2", "6", "--json");
    await done("context", "s", "--json");
    await done("bill", "s", "--json");
    await done("bill", "--by", "agent,model", "--json");
    await done("log", "--json");
    await done("verify", "--json");
    await done("replay", "s");
  };
  await look();
  await done("rewind", "s", "--before-turn", "3", "--json");
  await done("checkout", "s", "1", "--json");
  await done("rewind", "s", "--before-message", "s-1", "--tell", "--json");
  await done("fork", "s", "--id", "f", "--json");
  await done("redact", "s", "2", "--yes", "--json");
  await done("delete", "gone", "--yes", "--json");
  await done("delete", "--where", "team=old", "--yes", "--json");
  await writeFile(folder.at("f.jsonl"), await done("export", "f"));
  await done("import", "f.jsonl", "--id", "brought", "--json");
  const message = { id: "u1", role: "user", parts: [{ type: "text", text: "From elsewhere" }] };
  await writeFile(folder.at("messages.json"), JSON.stringify([message]));
  await done("import", "messages.json", "--from", "ui-messages", "--id", "messages", "--json");
  await done("set-title", "f", "A fork", "--json");
  await done("set-metadata", "f", '{"team":"of f"}');
  await done("close", "f", "it is over");
  if (all) await look();
  await refused("set-title", "f", "Again");
  await refused("withdraw", "s", "none");
  await refused("restore", "s", "4000");
  await refused("rewind", "s", "--to", "4000");
  await refused("checkout", "s", "77");
  await refused("show", "none");
  await refused("fork", "s", "--id", "f");
  await refused("delete", "none", "--yes");
  await refused("redact", "none", "1", "--yes");
  await refused("import", "f.jsonl", "--id", "f");
  return printed;
}

/** The last events of a chat and of a rerun. The agent of the carrier answers, so the words differ. */
export async function chatting({
  folder,
  options,
  env = {},
}: Carrier): Promise<readonly (string | undefined)[]> {
  const last: (string | undefined)[] = [];
  const events = z.array(z.looseObject({ type: z.string() }));
  for (const args of [
    ["--session", "s", "--json", "list all files"],
    ["rerun", "s", "--id", "again", "--json"],
  ]) {
    const { code, stdout, stderr } = await run([...args, ...options], { cwd: folder.path, env });
    expect({ args, code, stderr: code === 0 ? "" : stderr }).toEqual({ args, code: 0, stderr: "" });
    last.push(events.parse(jsonLines(stdout)).at(-1)?.type);
  }
  return last;
}
