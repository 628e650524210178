/** The model that `/model` chose last: a name in a file of the user's, never a key. */

import { mkdir, readFile, rm, writeFile } from "node:fs/promises";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { z } from "zod";

const file = (): string =>
  join(process.env["XDG_CONFIG_HOME"] || join(homedir(), ".config"), "turnlog", "settings.json");
const settings = z.object({ model: z.string() });

/** Undefined if none was chosen, or the file cannot be read. */
export async function rememberedModel(): Promise<string | undefined> {
  try {
    return settings.parse(JSON.parse(await readFile(file(), "utf8"))).model;
  } catch {
    return undefined;
  }
}

/** Returns whether later chats begin with the model. `offline` forgets the last one, since it answers without a choice. */
export async function rememberModel(model: string): Promise<boolean> {
  // A password in an address is a key.
  const { username = "", password = "", search = "" } = URL.parse(model) ?? {};
  const isKept = model !== "offline" && username + password + search === "";
  try {
    if (isKept) {
      await mkdir(dirname(file()), { recursive: true });
      await writeFile(file(), `${JSON.stringify({ model })}\n`);
    } else await rm(file(), { force: true });
    return isKept;
  } catch {
    // A home that cannot be written to.
    return false;
  }
}
