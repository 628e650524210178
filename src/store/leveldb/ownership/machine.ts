/** Identifies the machine of a process, to tell a dead owner from one on another machine. */

import { readFileSync } from "node:fs";
import { hostname } from "node:os";

/** Empty strings if the system does not tell. */
export interface Machine {
  readonly host: string;
  /** New at each start of the kernel; containers on one kernel share it. */
  readonly boot: string;
  /** Survives restarts. */
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
 * Whether an owner that does not answer may be alive on another machine. A process on this kernel
 * would have answered; one from before a restart of this machine is dead.
 */
export function isElsewhere(owner: Machine, here: Machine = thisMachine()): boolean {
  if (owner.boot !== "" && owner.boot === here.boot) return false;
  if (owner.host !== here.host || owner.machine !== here.machine) return true;
  // Two machines may share a name. Without a boot id, the name is all that is known.
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
