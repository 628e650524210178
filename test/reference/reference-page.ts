/** `docs/reference.md`: methods, options and commands, from the catalogue, the docstrings and the command line. */

import { commands, reads, type Command } from "../../src/commands/index.ts";
import { z } from "zod";
import { chatCommands } from "../../src/cli/chat/line/chat-help.ts";
import { commandLine } from "../../src/cli/program.ts";
import { createRuntime, offlineModel } from "../../src/public/index.ts";
import { createServer } from "../../src/public/server.ts";
import { recordedOutput } from "../cli/recorded-output.ts";
import type { Member } from "./declarations.ts";
import { declared, optionTypes } from "./declared.ts";

export const referencePath = "docs/reference.md";

const cell = (text: string): string => text.replaceAll("|", "\\|");
/** Words of the terminal's help: what stands in angle brackets there is not an element. */
const words = (text: string): string => cell(text).replaceAll("<", "\\<");
const firstSentence = (text: string): string => /^.*?\.(?= |$)/.exec(text)?.[0] ?? text;
const silent: string[] = [];

function said(name: string, text: string): string {
  if (text === "") silent.push(name);
  return cell(text);
}

function methods(all: readonly Command[]): string {
  const docs = new Map(
    ["Session", "ProgramEvents"].flatMap((name) =>
      (declared(name)?.members ?? []).map((member) => [member.name, member.comment] as const),
    ),
  );
  const rows = all.map(({ name, parameters, permission, route }) => {
    const given = parameters.map((one) => `${one.name}${one.isOptional ? "?" : ""}`).join(", ");
    const http =
      route === undefined
        ? ""
        : `\`${route.method.toUpperCase()} ${route.path.startsWith("/api") ? route.path : `…${route.path}`}\``;
    return `| \`${name}(${given})\` | ${said(name, firstSentence(docs.get(name) ?? ""))} | \`${permission}\` | ${http} |\n`;
  });
  return `| method | | permission | route |\n|---|---|---|---|\n${rows.join("")}`;
}

function options(owner: string, members: readonly Member[]): string {
  const rows = members.map(({ name, isOptional, type, comment }) => {
    const text = comment || (declared(type)?.comment ?? "");
    return `| \`${name}${isOptional ? "?" : ""}\` | ${said(`${owner}.${name}`, text)} |\n`;
  });
  return `| option | |\n|---|---|\n${rows.join("")}`;
}

interface Flag {
  readonly flags: string;
  readonly description: string;
  readonly commands: readonly string[];
}

function terminal(): readonly [commands: string, flags: string] {
  const program = commandLine(recordedOutput(false), () => {});
  const visible = program.createHelp().visibleCommands(program);
  const used = visible.map((one) => {
    const given = one.registeredArguments.map((argument) => {
      const name = `${argument.name()}${argument.variadic ? "..." : ""}`;
      return argument.required ? ` <${name}>` : ` [${name}]`;
    });
    return `| \`turnlog ${one.name()}${given.join("")}\` | ${words(one.description())} |\n`;
  });
  const flags = new Map<string, Flag>();
  for (const one of [program, ...visible]) {
    for (const { flags: text, description, hidden } of one.options) {
      if (hidden || text.includes("--version")) continue;
      const key = `${text} ${description}`;
      const by = one === program ? "all" : `\`${one.name()}\``;
      const known = flags.get(key)?.commands ?? [];
      flags.set(key, { flags: text, description, commands: [...known, by] });
    }
  }
  const rows = [...flags.values()].map(
    (one) =>
      `| \`${cell(one.flags)}\` | ${words(one.description)} | ${one.commands.join(", ")} |\n`,
  );
  return [used.join(""), rows.join("")];
}

const describedRoutes = z.object({
  paths: z.record(z.string(), z.record(z.string(), z.looseObject({ summary: z.string() }))),
});

/** As the server describes them itself. */
async function routes(): Promise<string> {
  await using runtime = await createRuntime({ memory: true, agent: { model: offlineModel() } });
  const server = createServer(runtime, { token: false, authorize: () => false });
  const answer = await server.fetch(new Request("http://localhost/openapi.json"));
  const { paths } = describedRoutes.parse(await answer.json());
  const rows = Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([method, { summary }]) => `| \`${method.toUpperCase()} ${path}\` | ${words(summary)} |\n`,
    ),
  );
  return rows.join("");
}

function chat(): string {
  const rows: [names: string, what: string][] = [];
  for (const [names, what] of chatCommands) {
    const last = rows.at(-1);
    // The text of the command above continues.
    if (names === "" && last !== undefined) last[1] += ` ${what}`;
    else rows.push([names, what]);
  }
  return rows.map(([names, what]) => `| \`${cell(names)}\` | ${words(what)} |\n`).join("");
}

/** @throws Error that names each method and option without a comment */
export async function referencePage(): Promise<string> {
  const sections = optionTypes.map(([call, type]) => {
    const found = declared(type)?.members ?? [];
    if (found.length === 0) throw new Error(`${type} has no fields that this page could show.`);
    return `\n### \`${call}\`\n\n${options(type, found)}`;
  });
  const changing = methods(commands);
  const reading = methods(reads);
  if (silent.length > 0) throw new Error(`The docstrings do not explain: ${silent.join("; ")}`);
  const [used, flags] = terminal();
  return `# Reference

Made from the source by \`npm run reference\`. Docstrings say the same in an editor, with types and examples.

| you look for | it is in |
|---|---|
| an event and its fields | [events](events.md) |
| an error code | [when something fails](errors.md) |
| a route of the server, and who may call it | [the routes](#routes-of-the-server); \`GET /openapi.json\` has their bodies |
| a setting of an agent | [the settings of an agent](agent-settings.md) |
| a metric or an attribute of a trace | [telemetry](telemetry.md#metrics) |
| a variable of the environment | [the terminal](terminal.md#settings-from-the-environment) |

## Methods of a session

With the action that \`authorize\` is asked about, and the route below \`/api/sessions/{session}\` (\`…\`).

### What changes a session

${changing}
### What reads a session

${reading}
## Options
${sections.join("")}
## Commands of the terminal

| command | |
|---|---|
${used}
| option | | of |
|---|---|---|
${flags}
## Commands of the chat

| in a conversation of the terminal | |
|---|---|
${chat()}
## Routes of the server

| route | |
|---|---|
${await routes()}`;
}
