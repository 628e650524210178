/** The text of `src/client/command-table.ts`: how the client calls each command that has a route. */

import { byId } from "../../src/events/index.ts";
import { commands, reads, type Command, type Parameter } from "../../src/commands/index.ts";

export const tablePath = "src/client/command-table.ts";

type Served = Command & { readonly route: NonNullable<Command["route"]> };

/** The routes by the names of their commands, in the order of the catalogue. */
export function tableRoutes(): Readonly<Record<string, string>> {
  const served = [...commands, ...reads].filter((command): command is Served => "route" in command);
  return Object.fromEntries(served.map((command) => [command.name, routeOf(command, served)]));
}

/** Whether the path is whole: an id in it names the session. */
function isWhole(route: string): boolean {
  return route.includes(" /api/");
}

export function tableSource(): string {
  const all = Object.entries(tableRoutes());
  const rows = (of: (route: string) => boolean): string =>
    all
      .filter(([, route]) => of(route))
      .map(([name, route]) => `  ${name}: "${route}",\n`)
      .join("");
  return `/**
 * How a client calls each command. Made from the catalogue of commands by \`npm run tables\`.
 *
 * How the answer is read (as it is, as a session, or by one of its fields), the method, the path, and the fields of
 * the arguments behind that of the path (\`*\`). \`...\` means an argument with fields of its own, or a value for the field
 * behind it. A field with \`=\` is always sent.
 */

export const serverCommands = {
${rows((route) => isWhole(route))}} as const;

/** Their paths are below that of the session. */
export const sessionCommands = {
${rows((route) => !isWhole(route))}} as const;
`;
}

function routeOf({ name, route, answer }: Served, served: readonly Served[]): string {
  const { method, path, fixed = {} } = route;
  // `view` takes the position of `at`: they are one route.
  const places = served
    .filter((other) => other.route.method === method && other.route.path === path)
    .map(placesOf)
    .reduce((most, one) => (one.length > most.length ? one : most), []);
  const { kind } = answer;
  const read = { turn: "json", list: name, "turn-in-fork": "fork", nothing: "void" };
  const always = Object.entries(fixed).map(([field, value]) => `${field}=${value}`);
  const words = [byId(read, kind) ?? kind, method.toUpperCase(), path.replace(/\{\w+\}/, "*")];
  return [...words, ...places, ...always].join(" ");
}

/** Its argument that is a part of the path comes first. */
function placesOf({ parameters, route: { path } }: Served): readonly string[] {
  const behind = parameters.filter(({ name }) => !path.includes(`{${name}}`));
  const places = behind.map(placeOf);
  return places.slice(0, places.findLastIndex((place) => place !== "") + 1);
}

/** An empty text for what is not sent. */
function placeOf({ name, fields, shorthand, isLocal }: Parameter): string {
  if (isLocal === true) return "";
  if (fields === undefined) return name;
  const sent = Object.keys(fields).filter((field) => field !== "by");
  if (sent.length === 0) return "";
  return `...${shorthand ?? (sent.length === 1 ? sent.join("") : "")}`;
}
