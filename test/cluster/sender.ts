/** A client that sends one message after the other, each again under its id until a node has accepted it. */

import { setTimeout } from "node:timers/promises";

const headers = { authorization: "Bearer secret", "content-type": "application/json" };
/** A paused node answers late. */
const PATIENCE_MS = 4000;

export async function sendAll(
  url: string,
  { session, agent }: { readonly session: string; readonly agent: string },
  isMore: (sent: number) => boolean,
): Promise<readonly string[]> {
  const ids: string[] = [];
  await untilAccepted(`${url}/api/sessions`, { id: session, agent });
  while (isMore(ids.length)) {
    const id = `${session}${ids.length}`;
    await untilAccepted(`${url}/api/sessions/${session}/queue`, { message: `Message ${id}`, id });
    ids.push(id);
  }
  return ids;
}

async function untilAccepted(url: string, body: object): Promise<void> {
  for (;;) {
    const accepted = await fetch(url, {
      method: "POST",
      headers,
      body: JSON.stringify(body),
      signal: AbortSignal.timeout(PATIENCE_MS),
    }).then(
      async (answer) => {
        await answer.body?.cancel();
        return answer.ok;
      },
      () => false,
    );
    if (accepted) return;
    await setTimeout(20);
  }
}
