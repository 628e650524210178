/** Reading a log from another process, line by line. */

import { expect, it } from "vitest";
import { answerLines } from "../../src/server/store/log-reading.ts";
import { openMemoryLog } from "../../src/store/leveldb/index.ts";
import { numbered } from "../../src/testing/index.ts";

it("each event of a subscription leaves at once, though no more come", async () => {
  await using log = await openMemoryLog();
  await log.append("s", "none", [numbered(1)]);
  const left = new AbortController();
  for (const call of ["subscribe", "subscribeAll"] as const) {
    const asked = call === "subscribe" ? { call, session: "s", from: 1 } : { call, from: 1 };
    const reader = answerLines(log, asked, [left.signal])
      .pipeThrough(new TextDecoderStream())
      .getReader();
    expect((await reader.read()).value).toMatch(/^\{"item":.*\}\n$/);
    await reader.cancel();
  }
});
