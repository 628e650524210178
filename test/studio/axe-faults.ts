/** What axe finds in a page: each fault of accessibility, with its place. */

import { readFile } from "node:fs/promises";
import { createRequire } from "node:module";
import type { AxeResults } from "axe-core";
import type { Page } from "playwright-core";

const source = createRequire(import.meta.url).resolve("axe-core/axe.min.js");

export async function axeFaults(page: Page): Promise<readonly string[]> {
  // Through the debugger, which the page's policy does not bind.
  await page.evaluate(await readFile(source, "utf8"));
  return await page.evaluate(async () => {
    const run: unknown = Reflect.get(globalThis, "axe");
    const { violations } = await (run as { readonly run: () => Promise<AxeResults> }).run();
    return violations.flatMap(({ id, nodes }) =>
      nodes.map(({ target, failureSummary }) => `${id}: ${target.join(" ")} ${failureSummary}`),
    );
  });
}
