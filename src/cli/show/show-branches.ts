/** A branch on one line. Pure. */

import type { SessionBranch } from "../../state/index.ts";
import { amount, dateAndTime } from "../wording/index.ts";

/** `*` marks the active branch. */
export function branchLine({ id, turns, lastAt, active, forkedAt }: SessionBranch): string {
  const from = forkedAt === undefined ? "" : `, from position ${forkedAt}`;
  const last = lastAt === undefined ? "" : `, last ${dateAndTime(lastAt)}`;
  return `${active ? "*" : " "} ${id}: ${amount(turns, "turn")}${from}${last}`;
}
