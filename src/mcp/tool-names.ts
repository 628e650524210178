/** Names of MCP tools for a model. Pure: the same tools always get the same names. */

import { hash } from "node:crypto";

interface NamedTool {
  readonly server: string;
  readonly tool: string;
}

/** Every provider accepts up to 64 letters, digits, `_` and `-`, not beginning with a digit or `-`. */
const LONGEST = 64;
const DIGEST = 8;

/**
 * `server__tool`, in order. A name that is too long, taken, or used twice ends in a digest of server and tool;
 * all tools that clash get one, so that no name depends on the order. @param taken - Names in use.
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
