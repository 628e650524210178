/** The code that some pages of docs show runs unchanged. */

import { expect, it } from "vitest";
import { shownPrograms } from "../support/shown-blocks.ts";
import { runShownCode } from "../support/shown-code.ts";

const pages = [
  "your-events",
  "sessions",
  "outputs",
  "rewinding",
  "loop",
  "agent-settings",
  "from-stream-text",
  "web",
  "ag-ui",
  "server",
  "operating",
  "errors",
  "comparing",
];

it.each(pages.flatMap((page) => shownPrograms(`docs/${page}.md`, "ts")))(
  "$page: $title",
  async ({ code }) => {
    expect(code).toContain("assert.");
    await runShownCode(code);
  },
);
