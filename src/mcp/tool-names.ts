/** What the tools of MCP servers are called before a model. Pure: the same tools have the same names each time. */

import { hash } from "node:crypto";

interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** What every provider takes: letters, digits, `_` and `-`, at most so many, no digit or `-` first. */
const LONGEST = 64;
const DIGEST = 8;

/**
 * A name for each tool, in their order: `server__tool`. Where that is too long, or two would be
 * called the same, or one as a tool of the agent's own, the name ends in a digest of what it stands
 * for: of all that clash, so that none depends on which of them came first.
 * @param taken - Names that are not to be had.
 */
export function toolNames(
  tools: readonly NamedTool[],
  taken: ReadonlySet<string>,
): readonly string[] {
  const plain = tools.map(plainName);
  return tools.map((tool, index) => {
    const name = plain[index] ?? "";
    const isClear = plain.filter((other) => other === name).length === 1 && !taken.has(name);
    return isClear && name.length <= LONGEST ? name : withDigest(name, tool);
  });
}

/** How the names of a server's tools begin. */
export function namePrefix(server: string): string {
  return plainName({ server, tool: "" });
}

function plainName({ server, tool }: NamedTool): string {
  const name = `${server}__${tool}`.replaceAll(/[^\w-]/g, "_");
  return /^[A-Za-z_]/.test(name) ? name : `_${name}`;
}

function withDigest(name: string, { server, tool }: NamedTool): string {
  const digest = hash("sha256", JSON.stringify([server, tool])).slice(0, DIGEST);
  return `${name.slice(0, LONGEST - DIGEST - 1)}_${digest}`;
}
