/**
 * A recorded answer of Gemini 3 with hidden thoughts, and the bill of the request after it. The real client reads
 * both, and the session's estimate of the second request is held against its bill.
 */

import { createGoogle } from "@ai-sdk/google";
import { jsonSchema, tool } from "ai";
import { expect, it } from "vitest";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { wireRows } from "./wire-manifest.ts";
import { serveStreams } from "./wire-server.ts";
import { recordedStream } from "./wire-stream.ts";

describeWithCorpus("the estimate after an answer of Gemini 3", () => {
  it("has its 81 hidden thoughts, as the next bill of 8,135 tokens has", async () => {
    const rows = wireRows(["google"]).filter(({ file }) =>
      /policy-headless-readonly\.[01]\.sse$/.test(file),
    );
    const [row] = rows;
    if (row === undefined) throw new Error("The answer is not in the corpus.");
    const url = row.url.replace(/models\/[^:]*/, "models/gemini-3-flash-preview");
    const streams = await Promise.all(rows.map(recordedStream));
    await using server = await serveStreams({ ...row, url }, streams, { seed: 3 });
    const google = createGoogle({ baseURL: `${server.url}/v1beta`, apiKey: "recorded" });
    // What the file contained was not recorded: a few words, of a bill of 21 tokens.
    const read = tool({
      inputSchema: jsonSchema({ type: "object" }),
      execute: () => "Lorem ipsum dolor sit amet",
    });
    const log = await openMemoryLog();
    const model = google("gemini-3-flash-preview");
    // Nor were the instructions: without any, the bill would be too large for its request.
    const instructions = "Be brief. ".repeat(3000);
    await using runtime = await createRuntime({
      log,
      agent: { model, instructions, tools: { read_file: read } },
    });
    const session = await runtime.session("s");
    await (
      await session.send("What is its language?")
    ).result;
    const estimates: number[] = [];
    const bills: number[] = [];
    for await (const { type, data } of log.read("s")) {
      if (type === "step.started") estimates.push(data.estimate.tokens);
      if (type === "step.finished") bills.push(data.usage.inputTokens);
    }
    expect(bills).toEqual([7969, 8135]);
    expect(Math.abs((estimates[1] ?? 0) - 8135)).toBeLessThan(8);
  });
});
