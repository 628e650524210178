/** Runs one load: its server in a process of its own, its clients in this one. */

import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { z } from "zod";
import { inFolder } from "../folder.ts";
import { setTimeout as wait } from "node:timers/promises";
import { opened, read, type Arrival } from "./reader.ts";

export interface Load {
  /** `runtime`: sessions without HTTP. `server`: the same behind `serveNode`. `bare`: Hono over `streamText`. */
  readonly kind: "runtime" | "server" | "bare";
  readonly sessions: number;
  /** Clients of each session. */
  readonly clients: number;
  /** Further clients of the first session, which never read. */
  readonly stalled: number;
  /** Deltas of each reply, the time between two, and their characters. */
  readonly deltas: number;
  readonly everyMs: number;
  readonly size: number;
  /** The time over which the sessions begin. */
  readonly overMs: number;
}

const costSchema = z.object({
  cpuMs: z.number(),
  wallMs: z.number(),
  peakMegabytes: z.number(),
  /** Heap and buffers at the end, after a collection. */
  heldMegabytes: z.number(),
  delayP99Ms: z.number(),
});

export type Measured = z.output<typeof costSchema> & {
  /** Of each delta, at the client's parse. */
  readonly arrivals: readonly Arrival[];
};

const program = fileURLToPath(new URL("./load-child.ts", import.meta.url));

export async function measure(load: Load): Promise<Measured> {
  const { kind, sessions, deltas, everyMs, size, overMs } = load;
  return await inFolder(async (dir) => {
    const given = [kind, join(dir, "store"), sessions, deltas, everyMs, size, overMs].map(String);
    const child = fork(program, given, { execArgv: [...process.execArgv, "--expose-gc"] });
    const { port } = await told(child, z.object({ port: z.int() }));
    const begun = once(child, "message");
    child.send("begin");
    await begun;
    const arrivals = kind === "runtime" ? [] : await arrived(load, `http://127.0.0.1:${port}`);
    child.send("end");
    const cost = await told(child, costSchema);
    await once(child, "exit");
    return { ...cost, arrivals };
  });
}

async function arrived(
  { kind, sessions, clients, stalled, overMs }: Load,
  url: string,
): Promise<readonly Arrival[]> {
  const ids = Array.from({ length: sessions }, (_, index) => `s-${index}`);
  const followed = ids.flatMap((id) => Array.from({ length: clients }, () => id));
  const path = (id: string): string => (kind === "bare" ? `/${id}` : `/api/sessions/${id}/events`);
  const step = overMs / sessions;
  const all = Promise.all(
    followed.map(async (id, index) => {
      // A bare server's model begins with the request.
      if (kind === "bare") await wait(index * step);
      return await read(await opened(url + path(id)));
    }),
  );
  const lazy = await Promise.all(
    Array.from({ length: stalled }, async () => (await opened(url + path("s-0"))).pause()),
  );
  if (kind === "server")
    await Promise.all(
      ids.map(async (id, index) => {
        await wait(index * step);
        await say(url, id);
      }),
    );
  const arrivals = (await all).flat();
  // They are held until the server has measured its memory, and end with it.
  for (const one of lazy) one.on("error", () => {});
  return arrivals;
}

async function say(url: string, id: string): Promise<void> {
  const answer = await fetch(`${url}/api/sessions/${id}/queue`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: JSON.stringify({ message: "Go" }),
  });
  if (!answer.ok) throw new Error(`A message to ${id} was answered with ${answer.status}.`);
  await answer.body?.cancel();
}

async function told<Schema extends z.ZodType>(
  child: ChildProcess,
  schema: Schema,
): Promise<z.output<Schema>> {
  return schema.parse((await once(child, "message"))[0]);
}
