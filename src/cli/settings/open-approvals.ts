/** Which approvals a session waits for: of a turn that goes on once a person has answered. Pure. */

import type { Approval, SessionView } from "../../state/index.ts";

/** None where the turn goes on by itself, or stops. */
export function openApprovals({ approvals }: SessionView): readonly Approval[] {
  return approvals.filter(({ status }) => status === "waiting");
}
