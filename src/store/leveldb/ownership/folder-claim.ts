/**
 * Claims a folder in this process and on this machine without touching a file: by a registry in the
 * process, and by a kernel name on which only one process can listen.
 */

import type { Server } from "node:net";
import {
  type Greeting,
  type StoreService,
  askAt,
  listenAt,
  kernelAddress,
} from "./owner-socket.ts";

export interface FolderClaim {
  /** Whether the kernel excludes all other processes of this machine. */
  readonly isInKernel: boolean;
  release(): void;
}

/** The owner that has the folder already; without a greeting if it is too busy. */
export interface OtherOwner {
  readonly owner: Greeting | undefined;
}

/** How often to try an owner that listens but does not greet: it may be busy, or about to end. */
const MOST_ASKED = 3;

const registry = Symbol.for("turnlog.stores");
const shared: typeof globalThis & { [registry]?: Map<string, Greeting> } = globalThis;

/** The folders that this thread owns, by id, including those of another copy of this package. */
function owned(): Map<string, Greeting> {
  return (shared[registry] ??= new Map());
}

/**
 * @param id - Of the folder, as `folderId` makes it.
 * @param standing - Whether the owner is passing. Nothing is served by the kernel's name, which is open to all users.
 */
export async function claimFolder(
  id: string,
  greeting: Greeting,
  standing: Pick<StoreService, "isPassing">,
): Promise<FolderClaim | OtherOwner> {
  const taken = owned().get(id);
  if (taken !== undefined) return { owner: taken };
  // Set before any await: of two openings in this thread one is refused.
  owned().set(id, greeting);
  try {
    let server = await listenInKernel(id, greeting, standing);
    for (let asked = 1; server === "taken"; asked++) {
      const answer = await askAt(kernelAddress(id) ?? "");
      const owner = answer.kind === "alive" ? answer.greeting : undefined;
      if (owner !== undefined || asked === MOST_ASKED) {
        owned().delete(id);
        return { owner };
      }
      // A process that is being started has the sockets of the one that starts it, closed ones too, for a
      // moment.
      server = await listenInKernel(id, greeting, standing);
    }
    const listening = server;
    return {
      isInKernel: listening !== undefined,
      release: () => {
        listening?.close();
        owned().delete(id);
      },
    };
  } catch (error) {
    owned().delete(id);
    throw error;
  }
}

async function listenInKernel(
  id: string,
  greeting: Greeting,
  standing: Pick<StoreService, "isPassing">,
): Promise<Server | "taken" | undefined> {
  const address = kernelAddress(id);
  if (address === undefined) return undefined;
  try {
    return await listenAt(address, greeting, {
      get isPassing() {
        return standing.isPassing ?? false;
      },
    });
  } catch (error) {
    if (!(error instanceof Error && "code" in error)) throw error;
    if (error.code === "EADDRINUSE") return "taken";
    // A sandbox may forbid kernel names: the socket in the folder and LevelDB's lock remain.
    if (error.code === "EACCES" || error.code === "EPERM") return undefined;
    throw error;
  }
}
