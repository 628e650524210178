/**
 * A PostgreSQL server for tests: Debian's, started in a folder of its own on a free port of the loopback
 * address, by another user if this is root. PGlite, one connection in this process, where no server is installed.
 */

import { execFileSync, spawn, type ChildProcess } from "node:child_process";
import {
  chmodSync,
  chownSync,
  existsSync,
  globSync,
  mkdtempSync,
  readFileSync,
  renameSync,
  rmSync,
  writeFileSync,
} from "node:fs";
import { createServer } from "node:net";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { PGlite } from "@electric-sql/pglite";
import { z } from "zod";

export interface TestServer extends AsyncDisposable {
  readonly connectionString: string;
  /** The most connections that it takes. */
  readonly connections: number;
  /** Undefined for PGlite. */
  readonly process: ChildProcess | undefined;
  /** Kills the server, and starts it again on the same port. */
  crash(): Promise<void>;
}

/** The newest of the installed servers' folders of programs. */
export function installedPostgres(): string | undefined {
  const found = globSync("/usr/lib/postgresql/*/bin/initdb").toSorted();
  const newest = found.at(-1);
  return newest === undefined ? undefined : join(newest, "..");
}

export async function startPostgres(programs: string): Promise<TestServer> {
  const dir = mkdtempSync(join(tmpdir(), "turnlog-postgres-"));
  const user = serverUser();
  if (user !== undefined) chownSync(dir, user.uid, user.gid);
  else chmodSync(dir, 0o700);
  const data = join(dir, "data");
  const as = { ...user, cwd: dir };
  execFileSync(join(programs, "initdb"), ["-D", data, "-A", "trust", "-U", "turnlog"], {
    ...as,
    stdio: "ignore",
  });
  const port = await freePort();
  const options = ["-D", data, "-p", String(port), "-k", dir, "-h", "127.0.0.1"];
  const launch = (): ChildProcess =>
    spawn(join(programs, "postgres"), options, { ...as, stdio: "ignore" });
  let child = launch();
  const connectionString = `postgres://turnlog@127.0.0.1:${port}/postgres`;
  await untilReady(programs, port, child);
  return {
    connectionString,
    connections: 4,
    get process() {
      return child;
    },
    async crash() {
      child.kill("SIGKILL");
      await once(child, "exit");
      // It does not start before the last process of the killed one has ended.
      for (let isReady = false; !isReady;) {
        child = launch();
        isReady = await untilReady(programs, port, child).then(
          () => true,
          () => false,
        );
      }
    },
    async [Symbol.asyncDispose]() {
      if (child.exitCode === null && child.signalCode === null) {
        child.kill("SIGINT");
        await once(child, "exit");
      }
      rmSync(dir, { recursive: true, force: true });
    },
  };
}

/** The files of a process use one database after the other. */
let kept: PGlite | undefined;

/** A database takes 4 s of CPU to begin and 1 s to load: as it began, it is kept for the processes that come later. */
async function newDatabase(): Promise<PGlite> {
  const { PGlite } = await import("@electric-sql/pglite");
  const manifest = new URL("../package.json", import.meta.resolve("@electric-sql/pglite"));
  const { version } = z
    .object({ version: z.string() })
    .parse(JSON.parse(readFileSync(manifest, "utf8")));
  const file = join(tmpdir(), `turnlog-pglite-${version}.tar`);
  if (existsSync(file)) return await PGlite.create({ loadDataDir: new Blob([readFileSync(file)]) });
  const db = await PGlite.create();
  const folder = await db.dumpDataDir("none");
  const draft = `${file}.${process.pid}`;
  writeFileSync(draft, await folder.bytes());
  renameSync(draft, file);
  return db;
}

export async function startPglite(): Promise<TestServer> {
  const { PGLiteSocketServer } = await import("@electric-sql/pglite-socket");
  const db = kept ?? (await newDatabase());
  kept = undefined;
  const port = await freePort();
  const server = new PGLiteSocketServer({ db, port, host: "127.0.0.1", maxConnections: 4 });
  await server.start();
  return {
    connectionString: `postgres://postgres@127.0.0.1:${port}/postgres`,
    connections: 1,
    process: undefined,
    crash: () => Promise.reject(new Error("PGlite is part of this process.")),
    async [Symbol.asyncDispose]() {
      await server.stop();
      await emptied(db);
      await kept?.close();
      kept = db;
    },
  };
}

/** Takes away what clients have made, also one that left in the middle of a transaction. */
async function emptied(db: PGlite): Promise<void> {
  await db.exec("ROLLBACK");
  await db.exec("DISCARD ALL");
  const { rows } = await db.query<{ name: string }>(
    `SELECT quote_ident(nspname) AS name FROM pg_namespace WHERE nspname !~ '^(pg_|information_schema$|public$)'`,
  );
  for (const { name } of rows) await db.exec(`DROP SCHEMA ${name} CASCADE`);
}

/** PostgreSQL refuses to run as root; Debian's package brings a user for it. */
export function serverUser(): { readonly uid: number; readonly gid: number } | undefined {
  if (process.getuid?.() !== 0) return undefined;
  const id = (flag: string): number =>
    Number(execFileSync("id", [flag, "postgres"], { encoding: "utf8" }));
  return { uid: id("-u"), gid: id("-g") };
}

export async function freePort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  await once(server, "listening");
  const address = server.address();
  server.close();
  await once(server, "close");
  if (address === null || typeof address === "string") throw new Error("no port");
  return address.port;
}

async function untilReady(programs: string, port: number, child: ChildProcess): Promise<void> {
  for (;;) {
    if (child.exitCode !== null) throw new Error(`postgres ended with ${child.exitCode}`);
    const ready = spawn(join(programs, "pg_isready"), ["-h", "127.0.0.1", "-p", String(port)], {
      stdio: "ignore",
    });
    await once(ready, "exit");
    if (ready.exitCode === 0) return;
  }
}
