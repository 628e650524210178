/** The interface `Session`, which people read, and the catalogue of commands, from which the handle is made, say the same. */

import { readFile } from "node:fs/promises";
import { parseSync, Visitor } from "oxc-parser";
import { expect, it } from "vitest";
import { commands, reads } from "../../src/commands/index.ts";
import { createRuntime } from "../../src/public/index.ts";
import { offlineModel } from "../../src/models/index.ts";

/** The arguments of each method: `branch`, `options?`. */
type Methods = Readonly<Record<string, readonly string[]>>;

async function methodsOf(path: string, interfaceName: string): Promise<Methods> {
  const file = new URL(`../../src/${path}`, import.meta.url);
  const { program } = parseSync(file.pathname, await readFile(file, "utf8"));
  const methods: Record<string, string[]> = {};
  new Visitor({
    TSInterfaceDeclaration: ({ id, body }) => {
      if (id.name !== interfaceName) return;
      for (const member of body.body) {
        if (member.type !== "TSMethodSignature" || member.key.type !== "Identifier") continue;
        methods[member.key.name] = member.params.map((param) =>
          param.type === "Identifier"
            ? `${param.name}${"optional" in param && param.optional ? "?" : ""}`
            : "",
        );
      }
    },
  }).visit(program);
  return methods;
}

it("has each method of a session once, with its arguments in their order", async () => {
  const all = [...commands, ...reads];
  const described = Object.fromEntries(
    all.map(({ name, parameters }) => [
      name,
      parameters.map((one) => `${one.name}${one.isOptional ? "?" : ""}`),
    ]),
  );
  expect(all).toHaveLength(Object.keys(described).length);
  expect(described).toEqual({
    ...(await methodsOf("runtime/api/session.ts", "Session")),
    ...(await methodsOf("runtime/api/session.ts", "ProgramEvents")),
  });
});

it("is carried out by the runtime, each method", async () => {
  await using runtime = await createRuntime({ memory: true, agent: { model: offlineModel() } });
  const session = await runtime.session("s");
  const failures: string[] = [];
  for (const { name, parameters, answer } of [...commands, ...reads]) {
    // Without the arguments that it needs, a method refuses before it does anything.
    if (parameters.every(({ isOptional }) => isOptional) || answer.kind === "sequence") continue;
    const method: unknown = Reflect.get(session, name);
    try {
      await (typeof method === "function" ? Reflect.apply(method, session, []) : undefined);
      failures.push(`${name}: nothing was refused`);
    } catch (error) {
      const code: unknown = Reflect.get(Object(error), "code");
      if (code !== "INVALID_INPUT") failures.push(`${name}: ${String(error)}`);
    }
  }
  expect(failures).toEqual([]);
});
