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

/** The others of the page are tests, which `test/testing` runs, or parts of them. */
const script = shownPrograms("docs/testing.md", "ts").filter(({ code }) =>
  code.includes("assert."),
);

it.each([...pages.flatMap((page) => shownPrograms(`docs/${page}.md`, "ts")), ...script])(
  "$page: $title",
  async ({ code }) => {
    expect(code).toContain("assert.");
    await runShownCode(code);
  },
);
