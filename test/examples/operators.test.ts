/** The examples of a cron agent and of a multi-tenant service print what they promise. */

import { execFile } from "node:child_process";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { cleanEnvironment } from "../cli/command-line.ts";

async function printed(name: string): Promise<string> {
  const program = fileURLToPath(new URL(`../../examples/${name}.ts`, import.meta.url));
  const { stdout } = await promisify(execFile)(process.execPath, [program], {
    env: cleanEnvironment({}),
  });
  return stdout;
}

it("a cron agent goes on with its question and its next check after a restart", async () => {
  expect(await printed("cron-agent")).toBe(`backups asks: deleteBackup {"name":"monday.tar"}
Check the backups.
  There are 2 backups now.
Check the backups.
  Nothing to delete.
`);
});

it("a tenant has its own sessions and its own limit", async () => {
  expect(await printed("multi-tenant")).toBe(`Have you tried to turn it off and on?
It is ten percent off today. It is ten p
Your limit for today is reached.
Have you tried to turn it off and on?
COMMAND_REFUSED
acme [ 'acme-1', 'acme-2' ]
bolt [ 'bolt-1' ]
bolt left: 1 session deleted
`);
});
