/** The processes on one database: each has a lease, and by it the sessions that it runs. */

export { Commands } from "./inbox.ts";
export { Claims } from "./claims.ts";
export { Hints } from "./hints.ts";
