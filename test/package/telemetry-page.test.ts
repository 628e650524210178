/** The code that docs/telemetry.md shows runs as it stands there. */

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { afterAll, expect, it } from "vitest";
import { temporaryFolder } from "../cli/temporary-folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));
const page = await readFile(`${root}docs/telemetry.md`, "utf8");
const blocks = [...page.matchAll(/```ts\n([\s\S]*?)```/g)].map(([, code = ""]) => code);

afterAll(() => {
  globalThis.AI_SDK_TELEMETRY_INTEGRATIONS = undefined;
});

it("shows code", () => {
  expect(blocks).toHaveLength(2);
});

it.each(blocks.map((code, index) => [index + 1, code] as const))(
  "block %i runs",
  async (_, code) => {
    const own = code
      .replaceAll('"turnlog"', JSON.stringify(`${root}src/public/index.ts`))
      .replaceAll('"turnlog/testing"', JSON.stringify(`${root}src/public/testing.ts`))
      .replaceAll(
        /from "(ai|@ai-sdk\/otel)"/g,
        (__, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`,
      );
    await using folder = await temporaryFolder({});
    const file = folder.at("shown.ts");
    await writeFile(file, own);
    await expect(import(/* @vite-ignore */ pathToFileURL(file).href)).resolves.toBeDefined();
  },
);
