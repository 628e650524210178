/** Which sources `npm run test:mutants` plants in, and which tests have to notice. */

import { readdirSync, statSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

export interface Folder {
  /** Files or folders below `src`. */
  readonly sources: readonly string[];
  /** Tests below `test`, the nearest first: each group runs when those before have noticed nothing. */
  readonly tests: readonly (readonly string[])[];
}

export const root: string = fileURLToPath(new URL("../../", import.meta.url));

const recordings = ["laws/recorded-sessions.test.ts"];

export const folders: Readonly<Record<string, Folder>> = {
  machines: {
    sources: ["machines"],
    tests: [
      ["machines", "projections/queue", "projections/session-summary"],
      recordings,
      ["runtime/limits", "runtime/queue", "runtime/approvals"],
    ],
  },
  folds: {
    sources: ["folds"],
    tests: [
      [
        "folds",
        "machines",
        "projections/queue",
        "projections/tool-calls",
        "projections/call-history",
      ],
      recordings,
      ["laws/shared-folds", "runtime/queue"],
    ],
  },
  projections: {
    sources: ["projections"],
    tests: [
      ["projections"],
      // What a projection says is also tested where it is acted on.
      [
        "context/result-cuts",
        "context/media-budget",
        "context/context-estimate",
        "context/call-ids",
      ],
      recordings,
      ["laws/folds", "runtime/approvals", "runtime/fork-"],
    ],
  },
  context: {
    sources: ["context"],
    tests: [
      ["context"],
      recordings,
      [
        "corpus/estimates",
        "runtime/compacting",
        "runtime/overflowing",
        "runtime/unsent-messages",
        "bill",
        "runtime/bill",
      ],
    ],
  },
  events: {
    sources: ["events"],
    tests: [
      [
        "events",
        "store/event-rows",
        "store/leveldb/event-row",
        "store/encryption/encrypted-event",
        "archive/exchange/session-file",
        "runtime/disordered-logs",
        "runtime/foreign-events",
        "runtime/hash-chain",
        "runtime/plain-json",
        "runtime/hostile-values",
      ],
      recordings,
      ["archive", "contract/event-log", "runtime/fork-", "runtime/consuming", "server/errors-page"],
    ],
  },
  state: {
    sources: ["state"],
    tests: [
      [
        "state",
        "studio/near-states",
        "runtime/external-results",
        "runtime/fork-snapshots",
        "runtime/inbox",
        "runtime/indexed-lists",
        "runtime/listing",
        "runtime/projecting",
        "runtime/reading",
        "runtime/recovering",
        "runtime/rerunning",
        "runtime/rewinding",
        "runtime/session-snapshot",
        "runtime/steps",
        "runtime/structured-output",
        "runtime/sub-agents",
      ],
      [...recordings, "laws/shared-folds", "laws/rewinds"],
      ["runtime/approvals", "runtime/client-tools", "runtime/fork", "runtime/redacting", "archive"],
    ],
  },
};

/** The TypeScript files of a source. Throws where there is none, so that no folder is measured in part. */
export function filesOf(source: string): readonly string[] {
  const path = join(root, "src", source);
  const isFolder = statSync(path).isDirectory();
  const files = isFolder
    ? readdirSync(path, { recursive: true, encoding: "utf8" })
        .filter((file) => file.endsWith(".ts"))
        .map((file) => join(path, file))
        .toSorted()
    : [path];
  if (files.length === 0) throw new Error(`${path} has no TypeScript file.`);
  return files;
}
