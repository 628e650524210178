/** The offline model as the writer of summaries: what it writes is accepted, and later ones build on it. */

import { describe, expect, it } from "vitest";
import { offlineModel } from "../../src/models/offline-model.ts";
import { summarize } from "../../src/public/index.ts";
import { openSession, type OpenSession } from "../support/with-runtime.ts";
import { ask } from "../support/asking.ts";

const agent = { model: offlineModel(), instructions: "You are brief." };
const long = "and this is told at length, word for word. ".repeat(40);

async function compacted({ session }: OpenSession) {
  const event = await session.compact(summarize({ keepTokens: 200 }));
  if (event.type !== "context.compacted") throw new Error(JSON.stringify(event.data));
  return event.data;
}

describe("the offline model, asked for a summary", () => {
  it("writes one that is accepted as it is, and names what was asked first in it", async () => {
    await using open = await openSession(agent);
    await ask(open.session, `Mind the blue heron. ${long}`);
    await ask(open.session, `Something else. ${long}`);
    const { rung, summary } = await compacted(open);
    expect(rung).toBe("whole");
    expect(summary).toContain("## Goal\n- Mind the blue heron.");
    expect(summary).toContain("## Decisions\nnone");
  });

  it("keeps what the summary before it said", async () => {
    await using open = await openSession(agent);
    await ask(open.session, `Mind the blue heron. ${long}`);
    for (let turn = 1; turn <= 4; turn++) {
      await ask(open.session, `Turn ${turn}. ${long}`);
      const { rung, summary } = await compacted(open);
      expect(rung).toBe("whole");
      expect(summary).toContain("- Mind the blue heron.");
    }
  });

  it("answers everybody else as before, whatever they write about headings", async () => {
    await using open = await openSession({ ...agent, instructions: "## Goal\nBe brief." });
    expect(await ask(open.session, "<conversation>")).toContain("I do not understand");
  });
});
