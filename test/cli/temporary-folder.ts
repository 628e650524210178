/** A folder for one test, filled from a list of files, gone when the test ends. */
import { mkdir, mkdtemp, realpath, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";

export interface TemporaryFolder extends AsyncDisposable {
  readonly path: string;
  /** The absolute path of something in it. */
  at(name: string): string;
  write(name: string, content: string | Uint8Array): Promise<void>;
  link(name: string, target: string): Promise<void>;
}

/** @param files - Contents by path; folders are made as needed. */
export async function temporaryFolder(
  files: Readonly<Record<string, string | Uint8Array>> = {},
): Promise<TemporaryFolder> {
  const path = await realpath(await mkdtemp(join(tmpdir(), "turnlog-folder-")));
  const at = (name: string): string => join(path, name);
  const write = async (name: string, content: string | Uint8Array): Promise<void> => {
    await mkdir(dirname(at(name)), { recursive: true });
    await writeFile(at(name), content);
  };
  for (const [name, content] of Object.entries(files)) await write(name, content);
  return {
    path,
    at,
    write,
    link: (name, target) => symlink(target, at(name)),
    [Symbol.asyncDispose]: () => rm(path, { recursive: true, force: true }),
  };
}
