/** The records of decisions stay few and short, and each is found by its question. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";

const folder = join(import.meta.dirname, "../../docs/decisions");
const index = readFileSync(join(folder, "README.md"), "utf8");
const records = readdirSync(folder)
  .filter((name) => name !== "README.md")
  .toSorted()
  .map((name) => ({ name, text: readFileSync(join(folder, name), "utf8") }));

it("records of decisions are numbered without gaps, at most 40", () => {
  expect(records.length).toBeGreaterThan(20);
  expect(records.length).toBeLessThanOrEqual(40);
  const numbers = records.map(({ name }) => name.slice(0, 5));
  expect(numbers).toEqual(records.map((_, at) => `${String(at + 1).padStart(4, "0")}-`));
  const titles = records.map(({ text }) => text.slice(0, text.indexOf(" ", 2)));
  expect(titles).toEqual(records.map((_, at) => `# ${at + 1}.`));
});

it("a record of a decision has at most 500 words, in one form", () => {
  const sections = ["Decision", "Why", "Not taken", "Consequences"];
  for (const { name, text } of records) {
    expect(text.split(/\s+/).filter((word) => word !== "").length, name).toBeLessThanOrEqual(500);
    const headings = [...text.matchAll(/^## (.+)$/gm)].map(([, heading]) => heading);
    expect(headings, name).toEqual(sections);
  }
});

it("the index has the question of each record of a decision, once", () => {
  const lines = index.match(/^\d+\. .*$/gm);
  const questions = records.map(({ name, text }) => {
    const [, question = "none"] = /^\*(.+\?)\*$/m.exec(text) ?? [];
    return `${Number(name.slice(0, 4))}. [${question}](${name})`;
  });
  expect(lines).toEqual(questions);
});

it("former numbers of decisions lead to present ones", () => {
  const rows = [...index.matchAll(/^\| (\d+) \| (.+?) \|/gm)];
  const former = rows.map(([, number]) => Number(number));
  expect(former).toEqual([...new Set(former)].toSorted((one, other) => one - other));
  expect(former.length).toBeGreaterThan(70);
  const links = rows.flatMap(([, , now = ""]) => [...now.matchAll(/\[(\d+)\]\((\d+)-/g)]);
  expect(links.length).toBeGreaterThan(70);
  for (const [link, number, file] of links) expect(Number(file), link).toBe(Number(number));
});
