/**
 * `npm ci` refuses a lock file in which a platform's binary is missing, on every platform. An `npm install`
 * from a registry that lacks one drops it in silence; nothing but a fresh clone would tell.
 */
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { z } from "zod";

const lockFile = z.object({
  packages: z.record(
    z.string(),
    z.object({ optionalDependencies: z.record(z.string(), z.string()).optional() }),
  ),
});

/** The optional dependencies that no package in the lock file satisfies, by Node's way of looking upwards. */
function missingFrom({ packages }: z.infer<typeof lockFile>): readonly string[] {
  const isLocked = (name: string, from: string): boolean => {
    if (Object.hasOwn(packages, `${from === "" ? "" : `${from}/`}node_modules/${name}`))
      return true;
    return (
      from !== "" && isLocked(name, from.slice(0, Math.max(0, from.lastIndexOf("/node_modules/"))))
    );
  };
  return Object.entries(packages).flatMap(([path, { optionalDependencies = {} }]) =>
    Object.keys(optionalDependencies)
      .filter((name) => !isLocked(name, path))
      .map((name) => `${path} > ${name}`),
  );
}

describe("the lock file", () => {
  it("holds the binaries of every platform, so that npm ci accepts it", async () => {
    const text = await readFile(join(import.meta.dirname, "../../package-lock.json"), "utf8");
    const lock = lockFile.parse(JSON.parse(text));
    const withBinaries = Object.values(lock.packages).filter((entry) => entry.optionalDependencies);
    expect(withBinaries.length).toBeGreaterThan(0);
    expect(missingFrom(lock)).toEqual([]);
  });

  it("is found wanting where a binary is missing, wherever npm may have laid the others", () => {
    const packages = {
      "": { optionalDependencies: { at: "1" } },
      "node_modules/at": {},
      "node_modules/tool": { optionalDependencies: { mac: "1", linux: "1", at: "1" } },
      "node_modules/tool/node_modules/linux": {},
      "node_modules/tool/node_modules/deep": { optionalDependencies: { linux: "1", win: "1" } },
      "node_modules/@scope/mac": {},
    };
    expect(missingFrom({ packages })).toEqual([
      "node_modules/tool > mac",
      "node_modules/tool/node_modules/deep > win",
    ]);
  });
});
