/** The code that some pages of docs show runs as it stands there. */

import { readFile, writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { expect, it } from "vitest";
import { temporaryFolder } from "../cli/temporary-folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const pages = ["outputs", "rewinding", "loop", "agent-settings"].map((name) =>
  readFile(`${root}docs/${name}.md`, "utf8"),
);
const text = (await Promise.all(pages)).join("\n");
const blocks = [...text.matchAll(/^## (.+)$|```ts\n([\s\S]*?)```/gm)].reduce<
  { readonly title: string; readonly code: string }[]
>((found, [, title, code]) => {
  const last = found.at(-1);
  if (title !== undefined) return [...found, { title, code: "" }];
  return last === undefined || code === undefined
    ? found
    : [...found.slice(0, -1), { ...last, code: last.code + code }];
}, []);

it.each(blocks.filter(({ code }) => code !== ""))("$title", async ({ code }) => {
  expect(code).toContain("assert.");
  const own = code
    .replaceAll('"turnlog"', JSON.stringify(`${root}src/public/index.ts`))
    .replaceAll('"turnlog/testing"', JSON.stringify(`${root}src/public/testing.ts`))
    .replaceAll(
      /from "(ai|zod)"/g,
      (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`,
    );
  await using folder = await temporaryFolder({});
  const file = folder.at("shown.ts");
  await writeFile(file, own);
  await import(/* @vite-ignore */ pathToFileURL(file).href);
});
