/** The proxy before the nodes: each connection goes to one of those that take it, drawn by lot. */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import type { Random } from "../support/random.ts";

export interface Front extends AsyncDisposable {
  readonly url: string;
}

/** `ports`: those of the nodes that are up, asked for each connection. */
export async function openFront(ports: () => readonly number[], random: Random): Promise<Front> {
  const open = new Set<Socket>();
  const server = createServer((client) => {
    const [first = 0, ...rest] = ports();
    const behind = connect(random.pick([first, ...rest]), "127.0.0.1");
    for (const socket of [client, behind]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        behind.destroy();
      });
    }
    client.pipe(behind).pipe(client);
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    url: `http://127.0.0.1:${address.port}`,
    async [Symbol.asyncDispose]() {
      for (const socket of open) socket.destroy();
      server.close();
      await once(server, "close");
    },
  };
}
