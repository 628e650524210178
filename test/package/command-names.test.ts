/**
 * A command is said once. Its name stands in the family's file of the catalogue, in the interface of the session and
 * that of the client, and where the runtime carries it out; what else needs a command takes it from the catalogue.
 */

import { glob, readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { parseSync, Visitor } from "oxc-parser";
import { expect, it } from "vitest";

/** Names that mean nothing but the command, and the files of `src` that say them for another reason. */
const others: Readonly<Record<string, readonly string[]>> = {
  reschedule: ["src/machines/session-machine.ts"], // an action of the machine
  // An option of `cancel`, and what an MCP client cancels.
  withdraw: [
    "src/commands/turns.ts",
    "src/runtime/commands/execution.ts",
    "src/mcp-server/call-agent.ts",
  ],
  forgetApproval: [],
  setMetadata: [],
  restore: [],
  checkout: [],
  configure: ["src/commands/command.ts"], // a permission
  regenerate: [],
  // A permission, and an action of the machine.
  rewind: [
    "src/commands/command.ts",
    "src/commands/messages.ts",
    "src/server/sessions/catalogue-routes.ts",
    "src/machines/session-machine.ts",
  ],
  answerCall: ["src/client/client.ts"], // the client has it for calls of any session, too
};

/** The chats and editors name what a person asks for. The table is generated. In the store, `withdraw` is about appends. */
const apart = /^src\/(?:acp|cli|server\/chat|store)\/|command-table\.ts$/;

it("each name of a command stands in at most 4 files", async () => {
  const cwd = fileURLToPath(new URL("../../", import.meta.url));
  const found = new Map(Object.keys(others).map((name) => [name, new Set<string>()]));
  for await (const path of glob("src/**/*.{ts,tsx}", { cwd })) {
    const file = path.replaceAll("\\", "/");
    if (apart.test(file)) continue;
    const { program } = parseSync(file, await readFile(`${cwd}${file}`, "utf8"));
    const see = (name: string): void => void found.get(name)?.add(file);
    const key = ({ key: of }: { readonly key: object }): void =>
      see("name" in of && typeof of.name === "string" ? of.name : "");
    new Visitor({
      MemberExpression: ({ property }) => see(property.type === "Identifier" ? property.name : ""),
      Property: (property) => key(property),
      TSMethodSignature: key,
      TSPropertySignature: key,
      MethodDefinition: key,
      Literal: ({ value }) => see(typeof value === "string" ? value : ""),
    }).visit(program);
  }
  for (const [name, files] of found)
    for (const other of others[name] ?? [])
      expect(files.delete(other), `${name} does not stand in ${other} any more`).toBe(true);
  const tooMany = [...found].filter(([, files]) => files.size > 4);
  expect(tooMany.map(([name, files]) => [name, ...files])).toEqual([]);
  // What is never found would hold forever.
  expect([...found].filter(([, files]) => files.size < 2)).toEqual([]);
});
