/** `npm run screenshots`: the picture of docs/studio.md, or with a folder pictures of all views, for looking at by eye. */

import { mkdir, writeFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import type { Page } from "playwright-core";
import { StudioStage } from "./studio-stage.ts";

const folder = process.argv[2] ?? fileURLToPath(new URL("../../docs/images/", import.meta.url));
const isWhole = process.argv[2] !== undefined;
await mkdir(folder, { recursive: true });

const shots = [
  { name: "home", hash: "#/", ready: ".session-row" },
  { name: "prompt", hash: "#/sessions/fix-flaky-test?view=prompt&position=197", ready: ".change" },
  { name: "bill", hash: "#/sessions/fix-flaky-test?view=bill", ready: ".bill-call" },
  { name: "steps", hash: "#/sessions/fix-flaky-test", ready: ".waterfall" },
  {
    name: "events",
    hash: "#/sessions/nightly-report?view=events&position=40",
    ready: ".event-row",
  },
  { name: "state", hash: "#/sessions/refund-4711?view=state", ready: ".state" },
  {
    name: "compare",
    hash: "#/compare?left=fix-flaky-test&right=fix-flaky-test-lock",
    ready: ".pair-head",
  },
] as const;

async function picture(page: Page): Promise<Buffer> {
  const debug = await page.context().newCDPSession(page);
  const { data } = await debug.send("Page.captureScreenshot", { format: "webp", quality: 80 });
  return Buffer.from(data, "base64");
}

const stage = await StudioStage.open();
try {
  for (const dark of isWhole ? [false, true] : [false])
    for (const width of isWhole ? [390, 1280, 2560] : [1280]) {
      const page = await stage.page("", { width, dark });
      for (const { name, hash, ready } of isWhole ? shots : shots.slice(1, 2)) {
        await stage.go(page, hash);
        await page.waitForSelector(ready, { state: "attached" });
        await page.waitForTimeout(600);
        const scheme = dark ? "dark" : "light";
        const size = isWhole ? `-${width}` : "";
        await writeFile(`${folder}/studio-${name}-${scheme}${size}.webp`, await picture(page));
      }
    }
} finally {
  await stage.close();
}
