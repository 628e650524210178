/** The code that docs/telemetry.md shows runs unchanged. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { afterAll, expect, it } from "vitest";
import { runShownCode } from "../support/shown-code.ts";

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
    await expect(runShownCode(code)).resolves.toBeUndefined();
  },
);
