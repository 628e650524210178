/** Blobs in the database. */

export { PostgresBlobs } from "./postgres-blobs.ts";
