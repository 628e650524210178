/** The code that some pages of docs show runs as it stands there. */

import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";
import { runShownCode } from "../support/shown-code.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

const pages = [
  "your-events",
  "sessions",
  "outputs",
  "rewinding",
  "loop",
  "agent-settings",
  "from-stream-text",
  "web",
  "server",
  "operating",
  "errors",
].map((name) => readFile(`${root}docs/${name}.md`, "utf8"));
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
  await runShownCode(code);
});
