/**
 * Recorded answers of Gemini with thoughts, and the bill of the request after them. The real client reads both,
 * and the session's estimate of the second request is held against its bill.
 */

import { jsonSchema, tool } from "ai";
import { expect, it } from "vitest";
import { createRuntime, openMemoryLog } from "../../src/public/index.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { wireModel } from "./wire-model.ts";
import { wireRows } from "./wire-manifest.ts";
import { serveStreams } from "./wire-server.ts";
import { recordedStream } from "./wire-stream.ts";

/** What the tools brought was not recorded: it follows from what gemini-cli's tests say. */
const results: Readonly<Record<string, string>> = {
  "policy-headless-readonly": "Lorem ipsum",
  "json-output.error":
    "File not found: /gemini-cli/.integration-tests/1761766343238/json-output-error/path/to/nonexistent/file.txt",
  "hooks-system.block-tool": "Tool execution blocked: File writing blocked by security policy",
  "hooks-system.after-tool-context": "test content\n\nSecurity scan: File content appears safe",
};

describeWithCorpus(
  "the estimate after a call of Gemini has its thoughts, as the next bill has",
  () => {
    it.each(Object.entries(results))("%s", async (name, output) => {
      const rows = wireRows(["google"]).filter(({ file }) =>
        [0, 1].some((number) => file.endsWith(`/${name}.${number}.sse`)),
      );
      const streams = await Promise.all(rows.map(recordedStream));
      const [row] = rows;
      if (row === undefined) throw new Error(`${name} is not in the corpus.`);
      await using server = await serveStreams(row, streams, { seed: 3 });
      const { model } = wireModel(row, server.url);
      const inputSchema = jsonSchema({ type: "object" });
      const tools = Object.fromEntries(
        row.tools.map((one) => [one, tool({ inputSchema, execute: () => output })]),
      );
      const log = await openMemoryLog();
      await using runtime = await createRuntime({ log, agent: { model, tools } });
      const session = await runtime.session("s");
      await (
        await session.send("Please go on.")
      ).result;
      const estimates: number[] = [];
      const bills: number[] = [];
      for await (const { type, data } of log.read("s")) {
        if (type === "step.started") estimates.push(data.estimate.tokens);
        if (type === "step.finished") bills.push(data.usage.inputTokens);
      }
      const [, estimated = 0] = estimates;
      const [, billed = 0] = bills;
      expect(billed).toBe(rows[1]?.usage.inputTokens);
      expect(Math.abs(estimated - billed) / billed).toBeLessThan(0.004);
    });
  },
);
