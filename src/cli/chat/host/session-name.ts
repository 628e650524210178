/** Names of new sessions: the day, so that people find them, and random digits, so that they are unique. */

import { randomBytes } from "node:crypto";

/** `20260131-9f86d081` */
export function newSessionName(now: Date): string {
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("");
  return `${day}-${randomBytes(4).toString("hex")}`;
}

/** The name of a fork: begins with the original's name; forks of forks do not grow longer. */
export function forkName(session: string): string {
  const root = session.replace(/(-[0-9a-f]{8})-[0-9a-f]{8}$/, "$1").slice(0, 100);
  return `${root}-${randomBytes(4).toString("hex")}`;
}
