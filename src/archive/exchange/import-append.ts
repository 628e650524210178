/** Appends the events of a checked session file, in parts that become visible together. */

import { asEncrypted, isEncrypted, type EncryptedLog } from "../../store/encryption/index.ts";
import {
  appendParts,
  TurnlogError,
  type AppendOptions,
  type EventLog,
  type SessionEvent,
  digestIn,
  HashChain,
  isEncryptedInLog,
  type ChainLink,
} from "../../events/index.ts";
import {
  foldedStates,
  initialSessionState,
  keepStates,
  nothingKept,
  type SessionState,
} from "../../state/index.ts";
import { partsOf, type CheckedFile } from "./file-reader.ts";

export interface Imported {
  readonly session: string;
  readonly events: number;
}

/** Appends a checked file. @throws TurnlogError as `importSession` */
export async function appendFile(log: EventLog, file: CheckedFile): Promise<Imported> {
  // The log need not repeat these checks.
  return await append(log, file.found, file.parts(), "recorded");
}

export async function appendImported(
  log: EventLog,
  session: string,
  events: readonly SessionEvent[],
): Promise<Imported> {
  const hasEncrypted = events.some(isEncrypted);
  const { due: states } = await foldedStates(initialSessionState, hasEncrypted ? [] : events);
  const file = { session, events: events.length, hasEncrypted, states };
  return await append(log, file, partsOf(events), "copied");
}

async function append(
  log: EventLog,
  {
    session,
    events: count,
    hasEncrypted,
    states,
  }: Pick<CheckedFile["found"], "session" | "events" | "hasEncrypted" | "states">,
  parts: Iterable<readonly SessionEvent[]> | AsyncIterable<readonly SessionEvent[]>,
  origin: AppendOptions["origin"] & string,
): Promise<Imported> {
  const encrypted = asEncrypted(log);
  // Encrypted events are stored unchanged and read with the key that they had.
  const target = hasEncrypted ? (encrypted?.stored ?? log) : log;
  const relink = hasEncrypted ? undefined : await relinkedFor(log, session);
  const stored = async function* (): AsyncGenerator<readonly SessionEvent[]> {
    for await (const part of parts) {
      if (hasEncrypted) await assertDecrypts(encrypted, session, part);
      yield relink === undefined ? part : part.map(relink);
    }
  };
  try {
    await appendParts(target, session, stored(), { origin });
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "REVISION_CONFLICT") throw error;
    throw new TurnlogError(
      "REVISION_CONFLICT",
      `A session ${session} already exists. Nothing was imported. Import it under another name (\`as\`, \`--id\`).`,
      { session, cause: error },
    );
  }
  // States of encrypted content lack it.
  if (!hasEncrypted) await saveSnapshots(log, session, states);
  return { session, events: count };
}

/** Saves the snapshots that a live session of this length would have. */
async function saveSnapshots(
  log: EventLog,
  session: string,
  states: readonly SessionState[],
): Promise<void> {
  try {
    await keepStates(log, session, states, nothingKept);
  } catch (cause) {
    // The import succeeded; opening the session saves the missing snapshots.
    const what = `A snapshot of session ${session} could not be stored; the session is imported but opens more slowly next time.`;
    process.emitWarning(new TurnlogError("LOG_FAILED", what, { session, cause }));
  }
}

/** Refuses events that the key of the session does not decrypt, as those that a fork shared. */
async function assertDecrypts(
  log: EncryptedLog | undefined,
  session: string,
  events: readonly SessionEvent[],
): Promise<void> {
  try {
    await log?.assertDecryptable(session, events);
  } catch (error) {
    if (!TurnlogError.isInstance(error) || error.code !== "KEY_WRONG") throw error;
    const { position } = error;
    throw new TurnlogError(
      "KEY_WRONG",
      `The file cannot be imported: the event at ${position} was not encrypted with the present key of ${session}. Nothing was imported. Give the keys that it was written with. A fork shares events that are encrypted with the key of another session: export it in plain text.`,
      { session, ...(position === undefined ? {} : { position }), cause: error },
    );
  }
}

// Recomputes the links of a hash chain when an export or import changes stored bytes, which the chain covers:
// they differ between an encrypted and a plain log.

/** Takes the events in order and answers each with its new link. */
type Relinking = (event: SessionEvent) => SessionEvent;

/** For an export in plain text. A broken link stays broken. */
export function relinkedPlain(log: EventLog): Relinking {
  if (asEncrypted(log) === undefined) return (event) => event;
  const [stored, plain] = [new HashChain(), new HashChain()];
  return (event) => {
    // A copy has no stored form, so its digest covers the plain text.
    const copy = isEncryptedInLog(event) ? { ...event } : event;
    const holds = isLink(event) && stored.digest(event) === digestIn(event);
    const relinked = holds && isLink(copy) ? withDigest(copy, plain.digest(copy)) : copy;
    stored.take(event);
    plain.take(relinked);
    return relinked;
  };
}

/** For an import into a log that may encrypt; undefined for one that does not. */
async function relinkedFor(log: EventLog, session: string): Promise<Relinking | undefined> {
  const encrypt = await asEncrypted(log)?.encryptor(session);
  if (encrypt === undefined) return undefined;
  const chain = new HashChain();
  return (event) => {
    encrypt(event);
    const relinked = isLink(event) ? withDigest(event, chain.digest(event)) : event;
    encrypt(relinked);
    chain.take(relinked);
    return relinked;
  };
}

function isLink(event: SessionEvent): event is ChainLink {
  return digestIn(event) !== undefined;
}

function withDigest(link: ChainLink, digest: string): SessionEvent {
  return link.type === "session.chained"
    ? { ...link, data: { ...link.data, digest } }
    : { ...link, data: { ...link.data, digest } };
}
