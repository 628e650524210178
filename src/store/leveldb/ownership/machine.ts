/** Which machine a process runs on, so that a dead owner is told from one that cannot be reached. */

import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Empty strings where the system does not tell. */
export interface Machine {
  readonly host: string;
  /** Another one after each start of the kernel; containers on one kernel share it. */
  readonly boot: string;
  /** The same after a restart. */
  readonly machine: string;
}

let own: Machine | undefined;

export function thisMachine(): Machine {
  own ??= {
    host: hostname(),
    boot: textOf("/proc/sys/kernel/random/boot_id"),
    machine: textOf("/etc/machine-id"),
  };
  return own;
}

/**
 * Whether a process of that machine may be alive although no socket of it answers here. A process
 * on this kernel would have answered. One from before a restart of this machine is dead.
 */
export function isElsewhere(owner: Machine, here: Machine = thisMachine()): boolean {
  if (owner.boot !== "" && owner.boot === here.boot) return false;
  if (owner.host !== here.host || owner.machine !== here.machine) return true;
  // Two machines may share a name. Where the kernel has no boot id, the name is all there is.
  return owner.machine === "" && (owner.boot !== "" || here.boot !== "");
}

function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8").trim();
  } catch {
    // Only Linux has these files, and a container may lack them.
    return "";
  }
}
