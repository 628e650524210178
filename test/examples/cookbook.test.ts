/** The programs of the cookbook run, and print what the page says. */

import { readFileSync } from "node:fs";
import { format } from "node:util";
import { afterEach, expect, it, vi } from "vitest";
import { fakeServer, streamChunks } from "../cli/fake-server.ts";
import { serverOfFile } from "../postgres/server-of-file.ts";
import { shownPrograms } from "../support/shown-blocks.ts";
import { cookbookPage, cookbookPath, shownOutputs } from "./cookbook.ts";

const database = await serverOfFile();

afterEach(() => {
  vi.restoreAllMocks();
  vi.unstubAllEnvs();
});

it("shows the programs as they are", () => {
  const page = readFileSync(new URL(`../../${cookbookPath}`, import.meta.url), "utf8");
  const isSame = page === cookbookPage();
  expect(isSame, `${cookbookPath} is behind examples: run \`npm run reference\``).toBe(true);
});

it.each(shownPrograms(cookbookPath, "ts"))("is of one screen: $title", ({ code }) => {
  expect(code.trimEnd().split("\n").length).toBeLessThanOrEqual(40);
});

/** What a program prints. */
async function printed(file: string): Promise<string> {
  const said: string[] = [];
  vi.spyOn(console, "log").mockImplementation((...words: readonly unknown[]) => {
    said.push(`${format(...words)}\n`);
  });
  vi.spyOn(process.stdout, "write").mockImplementation((text) => said.push(String(text)) > 0);
  await import(`../../examples/${file}.ts`);
  return said.join("");
}

/** They need more than this process. */
const others: readonly string[] = ["local-model", "postgres"];
const outputs = new Map(shownOutputs());

it.each([...outputs].filter(([file]) => !others.includes(file)))(
  "%s.ts prints what the page says",
  async (file, shown) => {
    expect(await printed(file)).toBe(shown);
  },
);

it("local-model.ts asks a server that speaks chat completions", async () => {
  await using server = await fakeServer(async (_, response) => {
    await streamChunks(response, [{ delta: { content: "Paris." } }, { finish_reason: "stop" }]);
  });
  vi.stubEnv("MODEL_URL", server.url);
  expect(await printed("local-model")).toBe(outputs.get("local-model"));
});

it(`postgres.ts stores its session in a database, or says what it needs${database.needs}`, async () => {
  const { server } = database;
  vi.stubEnv("DATABASE_URL", server?.connectionString);
  expect(await printed("postgres")).toBe(
    server === undefined
      ? "Set DATABASE_URL to the address of a database.\n"
      : outputs.get("postgres"),
  );
});
