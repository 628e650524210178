/** The page of the rules is the one that the rules make. */

import { readFileSync, writeFileSync } from "node:fs";
import { expect, it } from "vitest";
import { pagePath, writePage } from "./page.ts";

const file = new URL(`../../${pagePath}`, import.meta.url);

it("has a page with exactly these rules", () => {
  const page = writePage();
  if (process.env["TURNLOG_RECORD"] !== undefined) writeFileSync(file, page);
  expect(readFileSync(file, "utf8"), "record the page anew, as it says itself").toBe(page);
});
