import { isStepCount, streamText } from "ai";
import { expect, it } from "vitest";
import { z } from "zod";
import { describeWithCorpus } from "./corpus-suite.ts";
import { wireMessages } from "./expected-parts.ts";
import { finalText } from "./final-answer.ts";
import { isContinuation } from "./pieces.ts";
import { wireFormats, wireRows, type WireRow } from "./wire-manifest.ts";
import { wireModel } from "./wire-model.ts";
import { serveWire } from "./wire-server.ts";
import { recordedStream } from "./wire-stream.ts";

/** A raw request, as a client would put it. */
function ask(row: WireRow, url: string, body: object): Promise<Response> {
  return fetch(url + row.url, { method: "POST", body: JSON.stringify(body) });
}

describeWithCorpus("the wire server", () => {
  const rows = wireRows();

  it("sends the recorded bytes in pieces that begin inside characters and inside lines", async () => {
    const asian = rows.find(({ file }) => file.includes("asian-language"));
    if (asian === undefined) throw new Error("the corpus has lost its stream in an Asian language");
    await using server = await serveWire(asian, { seed: 1 });
    const response = await ask(asian, server.url, {});
    const pieces: Uint8Array[] = [];
    await response.body?.pipeTo(
      new WritableStream<Uint8Array>({ write: (piece) => void pieces.push(piece) }),
    );
    expect(Buffer.concat(pieces)).toEqual(Buffer.from(await recordedStream(asian)));
    expect(pieces.some(([first]) => isContinuation(first))).toBe(true);
    expect(pieces.some((piece) => !piece.includes(0x0a))).toBe(true);
  });

  it("keeps every request, and refuses one that the row was not recorded for", async () => {
    const [row] = rows;
    if (row === undefined) throw new Error("the manifest has no rows");
    await using server = await serveWire(row, { seed: 1 });
    const refused = await fetch(`${server.url}/elsewhere`, { method: "POST" });
    expect([refused.status, await refused.text()]).toEqual([
      404,
      `${row.file} was recorded at ${row.url}, not at /elsewhere`,
    ]);
    await (await ask(row, server.url, { first: 1 })).arrayBuffer();
    await (await ask(row, server.url, { second: 2 })).arrayBuffer();
    expect(server.requests).toEqual([
      { path: row.url, body: { first: 1 } },
      { path: row.url, body: { second: 2 } },
    ]);
  });

  it.for(wireFormats)("answers the second request of %s with a final text", async (family) => {
    const row = wireRows([family], ["ok"]).at(0);
    if (row === undefined) throw new Error(`the manifest has no rows of ${family}`);
    await using server = await serveWire(row, { seed: 1 });
    const { model, tools } = wireModel(row, server.url);
    const call = () => streamText({ model, tools, messages: [...wireMessages], maxRetries: 0 });
    await call().consumeStream();
    const second = call();
    expect([await second.text, await second.finishReason]).toEqual([finalText, "stop"]);
    expect(await second.usage).toMatchObject({ inputTokens: 20, outputTokens: 4 });
  });

  const goOn = rows.filter(({ status, finish }) => status === "ok" && finish === "tool-calls");
  for (const row of goOn) {
    it(`takes the calls of ${row.family}: ${row.file} and their results into a second step`, async () => {
      await using server = await serveWire(row, { seed: 1 });
      const { model, tools } = wireModel(row, server.url);
      const result = streamText({
        model,
        tools,
        messages: [...wireMessages],
        stopWhen: isStepCount(2),
        maxRetries: 0,
      });
      expect(await result.text).toBe(finalText);
      const [first] = await result.steps;
      const calls = (first?.toolCalls ?? []).filter((call) => call.providerExecuted !== true);
      expect(calls.length).toBeGreaterThan(0);
      // Their names also stand in the tool definitions, which do not count.
      const { tools: _, ...prompt } = z.looseObject({}).parse(server.requests.at(1)?.body);
      const sent = JSON.stringify(prompt);
      for (const { toolCallId, toolName } of calls) {
        expect(sent).toContain(row.family === "google" ? toolName : toolCallId);
      }
      expect(server.requests).toHaveLength(2);
    });
  }
});
