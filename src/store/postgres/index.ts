/** The event log on PostgreSQL: one database for many processes. */

export {
  missingSchemaSql,
  openPostgresLog,
  postgresSchemaSql,
  type PostgresLogOptions,
} from "./open-postgres-log.ts";
