/** A PostgreSQL server for the tests of a file that need several processes. Without one they skip. */

import { afterAll } from "vitest";
import { installedPostgres, startPostgres, type TestServer } from "../support/postgres-server.ts";

interface ServerOfFile {
  readonly server: TestServer | undefined;
  readonly several: boolean;
  /** Behind the name of a suite: why it skips. */
  readonly needs: string;
}

export async function serverOfFile(): Promise<ServerOfFile> {
  const programs = installedPostgres();
  if (process.env["TURNLOG_POSTGRES"] === undefined || programs === undefined) {
    const needs = " (needs `npm run test:postgres` and an installed server)";
    return { server: undefined, several: false, needs };
  }
  const server = await startPostgres(programs);
  afterAll(() => server[Symbol.asyncDispose]());
  return { server, several: true, needs: "" };
}
