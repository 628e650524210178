/** `turnlog branches`: lists the branches of a session, oldest first. Runs nothing. */

import { z } from "zod";
import { sessionBranches, stateAt } from "../../state/index.ts";
import { jsonText } from "../output/visible-text.ts";
import { writeLines, type Output } from "../output/output.ts";
import { openSessions, sessionOptions } from "../settings/store-folder.ts";
import { branchLine } from "../show/show-branches.ts";

const optionsSchema = z.object(sessionOptions);

export async function branches(session: string, given: unknown, { data }: Output): Promise<void> {
  const { dir, database, keys, takeOver, json } = optionsSchema.parse(given);
  await using log = await openSessions(
    { dir, database, keys, takeOver },
    { readOnly: true, withoutKey: "redact" },
  );
  const found = sessionBranches(await stateAt(log, session));
  await writeLines(
    data,
    found.map((branch) => (json ? jsonText(branch) : branchLine(branch))),
  );
}
