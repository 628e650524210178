/** Answers of many megabytes: what they cost grows as they do. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { Lines } from "../../src/mcp/stdio-transport.ts";
import { RunningServer } from "../../src/mcp/mcp-server.ts";
import { temporaryFolder } from "../cli/temporary-folder.ts";
import { all, inAll } from "../support/runs.ts";
import { ownServer, pidsIn } from "./own-servers.ts";

const MEBI = 2 ** 20;
const answerSchema = z.looseObject({ content: z.array(z.looseObject({ text: z.string() })) });

describe.skipIf(!all)(`an answer of 64 million characters${inAll}`, () => {
  it("comes over a pipe within the time of a call, and whole", async () => {
    await using folder = await temporaryFolder();
    const server = new RunningServer("own", ownServer(folder), Date.now);
    const characters = 64 * MEBI;
    // A reader that begins again with each piece needs minutes for this, and a call has one.
    const { content } = answerSchema.parse(await server.call("huge", { characters }));
    expect(content.map(({ text }) => text.length)).toEqual([characters]);
    await server.close();
  });
});

describe.skipIf(!all)(`a turn with an answer of 32 million characters${inAll}`, () => {
  it("has it twice in memory, and not four times", async () => {
    await using folder = await temporaryFolder();
    const child = fileURLToPath(new URL("large-turn-child.ts", import.meta.url));
    // Megabytes: the code takes some 40, and the answer is a text beside its row or its line.
    const limits = [`--max-old-space-size=${40 + 2.25 * 32}`, "--max-semi-space-size=2"];
    const args = [...limits, child, folder.path, String(32 * MEBI)];
    const started = spawn(process.execPath, args, { stdio: ["ignore", "ignore", "pipe"] });
    let said = "";
    started.stderr.setEncoding("utf8").on("data", (text: string) => (said += text));
    await once(started, "close");
    expect({ code: started.exitCode, said }).toEqual({ code: 0, said: "" });
  });
});

describe.skipIf(!all)(`an answer of more than 128 million characters${inAll}`, () => {
  it("fails its call and no other, and the server continues", async () => {
    await using folder = await temporaryFolder();
    const settings = { ...ownServer(folder), callTimeoutMs: Number.POSITIVE_INFINITY };
    const server = new RunningServer("own", settings, Date.now);
    await expect(server.call("huge", { characters: 128 * MEBI })).rejects.toMatchObject({
      code: "MCP_SERVER_FAILED",
      message: expect.stringContaining("longer than 134217728 characters") as unknown,
    });
    expect(await server.call("say", {})).toMatchObject({ isError: false });
    expect(pidsIn(folder)).toHaveLength(1);
    await server.close();
  });
});

describe("lines", () => {
  it("are looked at once, in however many pieces they come", () => {
    const read: number[] = [];
    const lines = new Lines({
      longest: 128 * MEBI,
      onLine: ({ length }) => read.push(length),
      onTooLong: () => read.push(-1),
    });
    // A quarter of a million pieces: to look at all of them for each would be thirty billion looks.
    const piece = "x".repeat(256);
    for (let index = 0; index < MEBI / 4; index++) lines.add(piece);
    lines.add("\nend\n");
    expect(read).toEqual([64 * MEBI, 3]);
  });

  it("that are too long are dropped and reported once, and later ones are read", () => {
    const read: string[] = [];
    const lines = new Lines({
      longest: 6,
      onLine: (line) => read.push(line),
      onTooLong: (beginning) => read.push(`too long: ${beginning}`),
    });
    for (const piece of ["abc", "defg", "hij", "k\nl", "mn\n\r\nop", "q\n"]) lines.add(piece);
    expect(read).toEqual(["too long: abc", "lmn", "opq"]);
  });
});
