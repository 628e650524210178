/** Thousands of connections that ask for nothing: others are answered, and none comes in beyond the limit. */

import { spawn } from "node:child_process";
import { createInterface } from "node:readline";
import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { times } from "../support/runs.ts";
import { eventually } from "../support/eventually.ts";
import { serving } from "./serving.ts";

/** In a long run of the usual factor 10,000, the default limit. */
const many = times(50, 2000);

/**
 * Opens connections that send half a request, until it is killed: a process has files for one end of so many.
 * Prints `open` once all are connected, and `closed` for each that the server closes.
 */
const attacker = `
  const { connect } = require("node:net");
  const [port, count] = process.argv.slice(1).map(Number);
  let open = 0;
  for (let index = 0; index < count; index++) {
    const socket = connect(port, "127.0.0.1", () => {
      socket.write("GET /healthz HTTP/1.1\\r\\nhost: localhost\\r\\n");
      if (++open === count) console.log("open");
    });
    socket.on("error", () => {}).once("close", () => console.log("closed"));
  }
`;

function attack(port: number, count: number): { said: () => Promise<string>; end: () => void } {
  const child = spawn(process.execPath, ["--eval", attacker, `${port}`, `${count}`], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const lines = createInterface(child.stdout)[Symbol.asyncIterator]();
  return {
    said: async () => (await lines.next()).value ?? "",
    end: () => child.kill("SIGKILL"),
  };
}

it(`answers beside ${many} connections that never finish a request, and takes no more than its limit`, async () => {
  const room = 8;
  const agent = { model: scriptedModel(() => "ok") };
  await using open = await serving(agent, { connections: many + room });
  const idle = attack(open.server.port, many);
  expect(await idle.said()).toBe("open");
  const answer = await open.ask("/api/sessions/s/queue", { body: { message: "Hello." } });
  expect(answer.status).toBe(202);
  await open.runtime.session("s").then((session) => session.atRest());
  const beyond = attack(open.server.port, 2 * room);
  // The system connects some before the server closes them.
  expect([await beyond.said(), await beyond.said()]).toContain("closed");
  idle.end();
  beyond.end();
  await eventually(async () => expect((await open.ask("/api/sessions")).status).toBe(200));
});
