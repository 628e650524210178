/** A TCP proxy in front of a server, whose connections a test holds back and cuts, also within one request. */

import { once } from "node:events";
import { connect, createServer, type Socket } from "node:net";
import { setTimeout } from "node:timers/promises";

/** What happens to the next request that contains the text. */
export interface Cut {
  /** `before`: the server never gets it. `after`: the server executes it, and its answer is lost. */
  readonly at: "before" | "after";
  readonly text: string;
}

export interface TcpProxy extends AsyncDisposable {
  readonly port: number;
  /** Resolves when a connection was cut. */
  cutNext(cut: Cut): Promise<void>;
  /** Ends all connections. */
  drop(): void;
  /** Ends all connections and takes no new ones until the answer is called. */
  outage(): () => void;
  /** Passes on nothing for so many milliseconds, and then all of it. */
  holdBack(ms: number): Promise<void>;
}

export async function tcpProxy(host: string, port: number): Promise<TcpProxy> {
  const open = new Set<Socket>();
  let next: (Cut & { readonly done: () => void }) | undefined;
  let isOut = false;
  const drop = (): void => {
    for (const socket of open) socket.destroy();
  };
  const server = createServer((client) => {
    if (isOut) return void client.destroy();
    const upstream = connect(port, host);
    let isMute = false;
    for (const socket of [client, upstream]) {
      open.add(socket);
      socket.on("error", () => {});
      socket.on("close", () => {
        open.delete(socket);
        client.destroy();
        upstream.destroy();
      });
    }
    client.on("data", (data) => {
      const cut = next;
      if (cut !== undefined && data.includes(cut.text)) {
        next = undefined;
        if (cut.at === "before") {
          client.destroy();
          return cut.done();
        }
        isMute = true;
        // The answer shows that it was executed.
        upstream.once("data", () => {
          client.destroy();
          cut.done();
        });
      }
      upstream.write(data);
    });
    upstream.on("data", (data) => {
      if (!isMute) client.write(data);
    });
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error("no port");
  return {
    port: address.port,
    cutNext: (cut) =>
      new Promise((done) => {
        next = { ...cut, done };
      }),
    drop,
    outage: () => {
      isOut = true;
      drop();
      return () => {
        isOut = false;
      };
    },
    holdBack: async (ms) => {
      const held = [...open];
      for (const socket of held) socket.pause();
      await setTimeout(ms);
      for (const socket of held) socket.resume();
    },
    async [Symbol.asyncDispose]() {
      drop();
      server.close();
      await once(server, "close");
    },
  };
}
