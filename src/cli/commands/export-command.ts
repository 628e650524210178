/** `turnlog export`: writes a session as JSON Lines to stdout or into a file. */

import { homedir } from "node:os";
import { resolve } from "node:path";
import type { TurnlogError } from "../../events/index.ts";
import { folderBlobs } from "../../store/blobs/index.ts";
import { copyBlobs, exportFixture, exportSession } from "../../archive/exchange/index.ts";
import { namedFile } from "../settings/named-file.ts";
import { openSessions } from "../settings/store-folder.ts";
import { writeData, writeLine, writeLines, type Output } from "../output/output.ts";
import { UsageError } from "../output/error-report.ts";
import type { Given } from "./option-values.ts";
import type { exportOptions } from "./command-options.ts";

/** `words`: the session, and patterns to redact. */
export async function exportTo(
  words: readonly string[],
  options: Given<typeof exportOptions>,
  output: Output,
): Promise<void> {
  const { data, progress } = output;
  const { session, redact } = exported(words, options);
  const { encrypted, fixture, blobs } = options;
  if (typeof fixture === "string" && options.out !== undefined) {
    throw new UsageError(
      `--fixture ${fixture} and --out ${options.out} both name a file: use one of them.`,
    );
  }
  const out = typeof fixture === "string" ? fixture : options.out;
  if (redact.length > 0 && fixture === undefined) {
    throw new UsageError(
      "--redact is only for fixtures: add --fixture. An export is always complete.",
    );
  }
  if (encrypted && fixture !== undefined)
    throw new UsageError("--encrypted is only for exports: a fixture is always readable.");
  if (blobs !== undefined && fixture !== undefined) {
    throw new UsageError("--blobs is only for exports: a fixture has references but no blobs.");
  }
  const patterns = redact.map(patternOf);
  const lost: string[] = [];
  const onLost = ({ message }: TurnlogError): void => void lost.push(`Left out: ${message}`);
  const file = out === undefined ? undefined : await namedFile(out, output);
  await using log = await openSessions(options, { readOnly: true });
  const lines =
    fixture === undefined
      ? exportSession(encrypted ? log.stored : log, session, {
          blobs: blobs === undefined ? "inline" : "none",
          store: log.blobs,
          onLost,
        })
      : await exportFixture(log, session, { redact: patterns, home: homedir() });
  if (blobs !== undefined && log.blobs !== undefined) {
    await copyBlobs(log, session, log.blobs, folderBlobs(resolve(blobs)), onLost);
  }
  await (file === undefined ? writeData(data, lines) : file.write(lines));
  await writeLines(progress, lost);
  if (out === undefined) return;
  await writeLine(progress, `Session ${session} was written to ${out}.`);
}

/** After the session's name, `--redact` takes several patterns, as in the first release; before it, only one. */
function exported(
  [session, ...patterns]: readonly string[],
  { fixture, redact = [] }: Given<typeof exportOptions>,
): { readonly session: string; readonly redact: readonly string[] } {
  if (session === undefined) {
    throw new UsageError(
      typeof fixture === "string"
        ? `No session is named: --fixture took ${fixture} as its file. Name the session before it: turnlog export <session> --fixture [file].`
        : "No session is named, as in turnlog export <session>. turnlog sessions lists the sessions.",
    );
  }
  if (patterns.length > 0 && redact.length === 0)
    throw new UsageError(
      `One session is exported at a time: ${[session, ...patterns].join(", ")}.`,
    );
  return { session, redact: [...redact, ...patterns] };
}

function patternOf(source: string): RegExp {
  try {
    return new RegExp(source, "g");
  } catch (error) {
    throw new UsageError(`${source} is not a regular expression.`, { cause: error });
  }
}
