/** Milliseconds from SIGKILL of a node in the middle of a sentence to the next event of its session. */

import { setTimeout } from "node:timers/promises";
import pg from "pg";
import { z } from "zod";
import { startSlowNode } from "../../test/postgres/slow-nodes.ts";

const revisionSchema = z.tuple([z.object({ revision: z.coerce.number() })]);
const headers = { authorization: "Bearer secret", "content-type": "application/json" };

/** `through`: the address that the nodes get; a pooler's, or the server's. */
export async function measureTakeovers(
  server: string,
  through: string,
  program: string,
  { listen, kills }: { readonly listen: boolean; readonly kills: number },
): Promise<readonly number[]> {
  const schema = `takeover_${listen ? "listen" : "poll"}`;
  const client = new pg.Client({ connectionString: server });
  await client.connect();
  const settings = { program, connectionString: through, schema, listen };
  const waits: number[] = [];
  let next = await startSlowNode(settings);
  for (let kill = 0; kill < kills; kill++) {
    const owner = next;
    next = await startSlowNode(settings);
    const session = `s${kill}`;
    const revision = async (): Promise<number> => {
      const { rows } = await client.query(
        `SELECT coalesce(max(revision), 0) AS revision FROM ${schema}.sessions WHERE id = $1`,
        [session],
      );
      return revisionSchema.parse(rows)[0].revision;
    };
    const body = JSON.stringify({ message: "Go", id: "m" });
    await fetch(`${owner.url}/api/sessions/${session}/queue`, { method: "POST", headers, body });
    while ((await revision()) < 20) await setTimeout(5);
    owner.kill();
    const killed = performance.now();
    // What was under way is committed by then.
    await setTimeout(200);
    const before = await revision();
    while ((await revision()) === before) await setTimeout(5);
    waits.push(performance.now() - killed);
  }
  await next[Symbol.asyncDispose]();
  await client.end();
  return waits;
}
