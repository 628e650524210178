/** `npm run screenshots`: pictures of the demo's sessions, for the documents and for looking at by eye. */

import { mkdir } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { StudioStage } from "./studio-stage.ts";

const folder = process.argv[2] ?? fileURLToPath(new URL("../../docs/images/", import.meta.url));
const isWhole = process.argv[2] !== undefined;
await mkdir(folder, { recursive: true });

const shots = [
  { name: "prompt", hash: "#/sessions/fix-flaky-test?view=prompt&position=197", ready: ".change" },
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

const stage = await StudioStage.open();
try {
  for (const dark of [false, true])
    for (const width of isWhole ? [360, 1280, 2560] : [1280]) {
      const page = await stage.page("", { width, dark });
      for (const { name, hash, ready } of isWhole ? shots : shots.slice(0, 2)) {
        await stage.go(page, hash);
        await page.waitForSelector(ready, { state: "attached" });
        await page.waitForTimeout(600);
        const scheme = dark ? "dark" : "light";
        const size = isWhole ? `-${width}` : "";
        await page.screenshot({ path: `${folder}/studio-${name}-${scheme}${size}.png` });
      }
    }
} finally {
  await stage.close();
}
