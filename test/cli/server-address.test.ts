/** What `--server` and TURNLOG_TOKEN take, and what is said when the server is not reached by them. */

import { createServer } from "node:http";
import { once } from "node:events";
import { expect, it } from "vitest";
import { scriptedModel } from "../../src/models/index.ts";
import { serving } from "../server/serving.ts";
import { run } from "./command-line.ts";
import { temporaryFolder } from "./temporary-folder.ts";

async function sessions(server: string, token = ""): Promise<string> {
  await using folder = await temporaryFolder({});
  const env = { TURNLOG_TOKEN: token };
  const { code, stdout, stderr } = await run(["--server", server, "sessions"], {
    cwd: folder.path,
    env,
  });
  return `${code} ${stdout}${stderr}`;
}

it.each([
  "http://",
  "https://host:99999",
  "localhost:4400",
  "ftp://host",
  "http://ann:secret@host",
  "http://host/?a=1",
  "http://host/#a",
])("%s is no address of a server, which is said without the password in it", async (address) => {
  const said = await sessions(address);
  expect(said).toMatch(/^2 error: --server .*(?:begins with http|an address without)/);
  expect(said).not.toContain("secret");
});

it("an address may end with slashes and have capital letters", async () => {
  await using open = await serving({ model: scriptedModel([]) });
  await open.runtime.session("s-1");
  const { url, token } = open.server;
  expect(await sessions(`${url.replace("http", "HTTP")}//`, token)).toMatch(/^0 s-1 /);
});

it("a token that is missing, or that no header can have, is named by its variable", async () => {
  await using open = await serving({ model: scriptedModel([]) });
  const { url } = open.server;
  expect(await sessions(url)).toMatch(/^1 error: The server at .* needs a token: TURNLOG_TOKEN/);
  for (const token of ["to\nken", "tok€n"])
    expect(await sessions(url, token)).toContain("2 error: TURNLOG_TOKEN has characters");
});

it("an address that redirects is named with the one to which it leads", async () => {
  await using open = await serving({ model: scriptedModel([]) });
  const { url, token } = open.server;
  for (const status of [301, 308]) {
    const other = createServer((asked, answer) => {
      answer.writeHead(status, { location: `${url}${asked.url}` }).end();
    }).listen(0, "localhost");
    await once(other, "listening");
    const address = other.address();
    if (address === null || typeof address === "string") throw new Error("It has no port.");
    const said = await sessions(`http://localhost:${address.port}`, token);
    expect(said).toContain(`was redirected to ${url}`);
    other.close();
  }
});
