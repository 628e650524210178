/** PgBouncer in transaction mode before a server, for tests: Debian's, in a folder of its own. */

import { spawn } from "node:child_process";
import { once } from "node:events";
import { chownSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { freePort, serverUser } from "./postgres-server.ts";

const PROGRAM = "/usr/sbin/pgbouncer";
/** The most connections to the server. */
export const POOLED = 8;

export interface Pooler extends AsyncDisposable {
  readonly connectionString: string;
}

export const isPgbouncerInstalled: boolean = existsSync(PROGRAM);

export async function startPgbouncer(server: string): Promise<Pooler> {
  const { hostname, port: behind } = new URL(server);
  const dir = mkdtempSync(join(tmpdir(), "turnlog-pgbouncer-"));
  const user = serverUser();
  if (user !== undefined) chownSync(dir, user.uid, user.gid);
  const port = await freePort();
  const settings = join(dir, "pgbouncer.ini");
  writeFileSync(
    settings,
    `[databases]
postgres = user=turnlog host=${hostname} port=${behind}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = ${POOLED}
max_client_conn = 200
server_check_delay = 0
`,
  );
  const child = spawn(PROGRAM, ["-q", settings], { ...user, cwd: dir, stdio: "ignore" });
  await untilListening(port);
  return {
    connectionString: `postgres://turnlog@127.0.0.1:${port}/postgres`,
    async [Symbol.asyncDispose]() {
      child.kill("SIGINT");
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGTERM");
        await once(child, "exit");
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

async function untilListening(port: number): Promise<void> {
  for (;;) {
    const socket = connect(port, "127.0.0.1");
    const isOpen = await Promise.race([
      once(socket, "connect").then(() => true),
      once(socket, "error").then(() => false),
    ]).catch(() => false);
    socket.destroy();
    if (isOpen) return;
    await setTimeout(20);
  }
}
