/** `turnlog context`: the size of a session's next prompt, now or at a position. Calls no model. */

import { defined } from "../../events/index.ts";
import { resolve } from "node:path";
import { readContext, type LoggedContext } from "../../runtime/index.ts";
import { agentParts } from "../chat/model/chat-agent.ts";
import { contextLines } from "../wording/context-drawing.ts";
import { readEnvironment } from "../settings/environment.ts";
import { openSessions } from "../settings/store-folder.ts";
import { writeLines, type Output } from "../output/output.ts";
import { jsonText } from "../output/visible-text.ts";
import type { Given } from "./option-values.ts";
import type { at } from "./command-options.ts";

export async function context(
  session: string,
  { position, json, ...place }: Given<[typeof at]>,
  { data }: Output,
): Promise<void> {
  await using log = await openSessions(place, { readOnly: true });
  const found = await readContext(
    log,
    session,
    defined({ position, agents: ownAgents(place.dir) }),
  );
  await writeLines(data, json ? [jsonText(found)] : textLines(found, data));
}

/** The agents of a chat in this folder. If one of them ran the session, instructions and tools are counted apart. */
function ownAgents(dir: string): readonly ReturnType<typeof agentParts>[] {
  const { instructions } = readEnvironment(process.env);
  return [false, true].map((allowWrite) =>
    agentParts({
      folder: process.cwd(),
      store: resolve(dir),
      allowWrite,
      canAsk: false,
      instructions,
    }),
  );
}

function textLines(found: LoggedContext, data: Output["data"]): readonly string[] {
  const title = `${found.session} at ${found.position}`;
  const lines = contextLines(found, data.columns ?? Number.POSITIVE_INFINITY);
  return [data.style("bold", title), ...lines];
}
