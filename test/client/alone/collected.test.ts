/** A client of a real server that falls silent: it notices, whatever Node's garbage collector has collected meanwhile. */

import { createServer } from "node:http";
import { once } from "node:events";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { setImmediate } from "node:timers/promises";
import { expect, it } from "vitest";
import { createClient } from "../../../src/client/index.ts";
import { eventually } from "../../support/eventually.ts";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;

it("asks again when a connection is silent, also after the request was collected", async () => {
  let asked = 0;
  const server = createServer((_, answer) => {
    asked++;
    answer.writeHead(200, { "content-type": "text/event-stream", "turnlog-protocol": "1" });
    answer.write(`data: {"position":${asked},"time":1,"type":"turn.started","data":{}}\n\n`);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  const port = typeof address === "object" ? (address?.port ?? 0) : 0;
  const client = createClient({ baseUrl: `http://127.0.0.1:${port}`, silenceMs: 400 });
  const stop = new AbortController();
  const seen: number[] = [];
  const following = (async () => {
    for await (const { position } of client.session("s").events({ signal: stop.signal }))
      seen.push(position);
  })();
  await eventually(() => {
    expect(seen[0]).toBe(1);
  });
  for (let time = 0; time < 4; time++) {
    await setImmediate();
    collect();
  }
  await eventually(() => {
    // An answer that comes late is given up too: the second one seen may be the third one asked for.
    expect(seen.length).toBeGreaterThan(1);
  });
  stop.abort();
  await following;
  server.closeAllConnections();
  server.close();
});
