// Runs the code that a page of the documents shows, as it is there.
import { writeFile } from "node:fs/promises";
import { fileURLToPath, pathToFileURL } from "node:url";
import { temporaryFolder } from "../cli/temporary-folder.ts";

const root = fileURLToPath(new URL("../../", import.meta.url));

/** Runs a block with the sources of turnlog and the installed packages; rejects with what it throws. */
export async function runShownCode(code: string): Promise<void> {
  const own = code
    .replaceAll(/(?<=from |import\()"turnlog"/g, JSON.stringify(`${root}src/public/index.ts`))
    .replaceAll(/"turnlog\/(\w+)"/g, (_, entry: string) =>
      JSON.stringify(`${root}src/public/${entry}.ts`),
    )
    .replaceAll(
      /from "(ai|zod|@ai-sdk\/otel|hono|@hono\/node-server|express|ws)"/g,
      (_, name: string) => `from ${JSON.stringify(import.meta.resolve(name))}`,
    );
  await using folder = await temporaryFolder({});
  const file = folder.at("shown.ts");
  await writeFile(file, own);
  await import(/* @vite-ignore */ pathToFileURL(file).href);
}
