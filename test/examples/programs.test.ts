/** The examples print what they promise: in this process, which has loaded the sources already. */

import { format } from "node:util";
import { expect, it, vi } from "vitest";

/** The lines that a program prints. */
async function printed(program: () => Promise<unknown>): Promise<readonly string[]> {
  const lines: string[] = [];
  const log = vi.spyOn(console, "log");
  log.mockImplementation((...values: readonly unknown[]) => void lines.push(format(...values)));
  try {
    await program();
  } finally {
    log.mockRestore();
  }
  return lines;
}

it("a cron agent goes on with its question and its next check after a restart", async () => {
  expect(await printed(() => import("../../examples/cron-agent.ts"))).toEqual([
    'backups asks: deleteBackup {"name":"monday.tar"}',
    "Check the backups.",
    "  There are 2 backups now.",
    "Check the backups.",
    "  Nothing to delete.",
  ]);
});

it("a tenant has its own sessions and its own limit", async () => {
  expect(await printed(() => import("../../examples/multi-tenant.ts"))).toEqual([
    "Have you tried to turn it off and on?",
    "It is ten percent off today. It is ten p",
    "Your limit for today is reached.",
    "Have you tried to turn it off and on?",
    "COMMAND_REFUSED",
    "acme [ 'acme-1', 'acme-2' ]",
    "bolt [ 'bolt-1' ]",
    "bolt left: 1 session deleted",
  ]);
});

it("a table is filled from all sessions, after an error from where it stopped", async () => {
  expect(await printed(() => import("../../examples/read-model.ts"))).toEqual([
    expect.stringContaining("the database is away"),
    "[ 'ann: a wrong invoice' ]",
    "tickets [ 'bob: a lost parcel' ]",
  ]);
});

it("two researchers answer in sessions of their own", async () => {
  const id = "article/research-1-[0-9a-f]{8}";
  expect(await printed(() => import("../../examples/sub-agents.ts"))).toEqual([
    "A long river and a high mountain.",
    expect.stringMatching(new RegExp(`^${id} succeeded Facts about rivers$`)),
    expect.stringMatching(new RegExp(`^${id} succeeded Facts about mountains$`)),
    expect.stringMatching(/^\d+ tokens of its own, \d+ in all$/),
  ]);
});
