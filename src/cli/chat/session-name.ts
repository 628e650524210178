/** The names of new sessions: the day, so that people find them, and enough chance to be the only one. */

import { randomBytes } from "node:crypto";

/** `20260131-9f86d081` */
export function newSessionName(now: Date): string {
  const day = [now.getFullYear(), now.getMonth() + 1, now.getDate()]
    .map((part) => String(part).padStart(2, "0"))
    .join("");
  return `${day}-${randomBytes(4).toString("hex")}`;
}
