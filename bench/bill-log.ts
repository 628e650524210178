/** The log of `npm run bench:bill`: in a folder, or on a server by its address. */

import { openLog, type EventLog } from "../src/public/index.ts";
import { openPostgresLog } from "../src/public/postgres.ts";

export async function openedLog(place: string): Promise<EventLog & AsyncDisposable> {
  return place.startsWith("postgres:")
    ? await openPostgresLog({ connectionString: place })
    : await openLog({ dir: place, durability: "os" });
}
