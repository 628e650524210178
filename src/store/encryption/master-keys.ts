/**
 * Wraps the keys of sessions by a master key, so that a copy of the key folder alone decrypts nothing. A new
 * master key rewraps the keys; the content of the sessions does not change.
 */

import { createCipheriv, createDecipheriv, createHmac, randomBytes } from "node:crypto";
import { z } from "zod";
import { assertKnownFormat, TurnlogError, type EventLog } from "../../events/index.ts";
import { check, optionsOf, thing } from "../../validation/index.ts";
import { keyLines, keyWrong, jsonOf, UNFINISHED, type KeyStore } from "./key-store.ts";

/** The master keys of {@link masterKeys}: 32 bytes each. */
export interface MasterKeyOptions {
  /** Wraps each key that is saved. */
  readonly current: Uint8Array;
  /** Former master keys, for keys that have not been rewrapped yet. */
  readonly previous?: readonly Uint8Array[];
}

/** A key store whose texts are wrapped by a master key. */
type MasterKeys = KeyStore & {
  /**
   * Wraps the keys of all sessions of a log by the current master key. Sessions that use this key store may keep
   * running. If the process dies, some keys are wrapped by a former master key: open with both, and rotate again.
   * Once it resolves, the former keys are needed for backups of the key store only.
   * @returns how many keys there are, and how many were rewrapped
   * @throws TurnlogError `KEY_WRONG` for keys that none of the master keys reads, once all others are rewrapped
   * (`details.sessions` names them); what the key store throws
   */
  rotate(log: Pick<EventLog, "list">): Promise<RotatedKeys>;
};

type RotatedKeys = {
  readonly keys: number;
  readonly rotated: number;
};

const FORMAT = 1;
const CIPHER = "aes-256-gcm";
const TAG_BYTES = 16;

const wrappedSchema = z.lazy(() =>
  z.object({
    turnlog: z.literal("wrapped-key"),
    format: z.literal(FORMAT),
    /** Names the master key. */
    by: z.string(),
    nonce: z.base64url(),
    text: z.base64url(),
  }),
);

const key = thing(
  "32 bytes, such as `randomBytes(32)`",
  (value) => value instanceof Uint8Array && value.byteLength === 32,
);
const optionsSchema = optionsOf<MasterKeyOptions>(
  {
    previous: thing(
      "a list of keys of 32 bytes",
      (value) => Array.isArray(value) && value.every((one) => key.safeParse(one).success),
    ),
  },
  { current: key },
);

/**
 * Keys of sessions, each wrapped by a master key (AES-256-GCM). Keys that were saved without a master key are
 * read as they are; `rotate` wraps them too.
 * @example
 * const keys = masterKeys(folderKeys("../keys"), { current, previous: [former] });
 * await using runtime = await createRuntime({ dir, agent, encryption: { keys } });
 * await keys.rotate(runtime.log);
 */
export function masterKeys(keys: KeyStore, options: MasterKeyOptions): MasterKeys {
  check(optionsSchema, options, "masterKeys", { name: "options" });
  const { current, previous = [] } = options;
  const own = Buffer.from(current);
  const id = idOf(own);
  const known = new Map(
    [own, ...previous.map((one) => Buffer.from(one))].map((one) => [idOf(one), one]),
  );
  /** By name: a rotation must not save a key as it was before an erasure. */
  const inLine = keyLines();
  const save = (name: string, text: string): Promise<void> =>
    keys.save(name, wrapped(name, text, own, id));

  /** Whether the key of that name exists, and whether it was rewrapped. */
  const rotateOne = async (name: string): Promise<"absent" | "current" | "rotated"> => {
    const stored = await keys.load(name);
    if (stored === undefined) return "absent";
    // Wrapped, a damaged text would look like a good one.
    if (Reflect.get(Object(jsonOf(stored)), "turnlog") === undefined) throw damagedText(name);
    if (wrappedBy(name, stored) === id) return "current";
    await save(name, unwrapped(name, stored, known));
    return "rotated";
  };

  return {
    ...(keys.folder === undefined ? {} : { folder: keys.folder }),
    load: (name) =>
      inLine(name, async () => {
        const stored = await keys.load(name);
        return stored === undefined ? undefined : unwrapped(name, stored, known);
      }),
    save: (name, text) => inLine(name, () => save(name, text)),
    erase: (name) => inLine(name, () => keys.erase(name)),
    async rotate(log) {
      const found = { keys: 0, rotated: 0 };
      const unread: TurnlogError[] = [];
      const rotate = async (name: string): Promise<void> => {
        const outcome = await inLine(name, () => rotateOne(name)).catch((error: unknown) => {
          if (!TurnlogError.isInstance(error) || error.code !== "KEY_WRONG") throw error;
          unread.push(error);
          return "absent" as const;
        });
        if (outcome !== "absent") found.keys += 1;
        if (outcome === "rotated") found.rotated += 1;
      };
      await rotate(UNFINISHED);
      for await (const { session } of log.list()) await rotate(session);
      if (unread[0] !== undefined) throw notAllRotated(unread[0], unread, found);
      return found;
    },
  };
}

/** The former master keys are still needed: the caller must not take this for a finished rotation. */
function notAllRotated(
  first: TurnlogError,
  unread: readonly TurnlogError[],
  { keys, rotated }: RotatedKeys,
): TurnlogError {
  const sessions = unread.map(({ session }) => session ?? UNFINISHED);
  const more = sessions.length === 1 ? "" : ` The same is true of ${sessions.length - 1} more.`;
  return new TurnlogError(
    "KEY_WRONG",
    `${first.message}${more} Of the other ${keys} keys, ${rotated} were rewrapped. Keep the former master keys until a rotation ends without this error.`,
    {
      ...(first.session === undefined ? {} : { session: first.session }),
      details: { sessions },
      cause: first,
    },
  );
}

/** Tells master keys apart, and nothing about them. */
function idOf(master: Buffer): string {
  return createHmac("sha256", master).update("turnlog master key").digest("hex").slice(0, 16);
}

/** The name is authenticated: a text is not accepted under another one. */
function wrapped(name: string, text: string, master: Buffer, by: string): string {
  const nonce = randomBytes(12);
  const cipher = createCipheriv(CIPHER, master, nonce).setAAD(Buffer.from(name));
  const body = Buffer.concat([cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]);
  return JSON.stringify({
    turnlog: "wrapped-key",
    format: FORMAT,
    session: name,
    by,
    nonce: nonce.toString("base64url"),
    text: body.toString("base64url"),
  });
}

type Wrapped = z.infer<typeof wrappedSchema>;

/** Undefined for a text that no master key wrapped. @throws TurnlogError `LOG_TOO_NEW` */
function wrappedText(name: string, stored: string): Wrapped | undefined {
  const json = jsonOf(stored);
  const isWrapped = Reflect.get(Object(json), "turnlog") === "wrapped-key";
  if (!isWrapped) return undefined;
  assertKnownFormat(`The key of session ${name}`, json, FORMAT, { session: name });
  const { data } = wrappedSchema.safeParse(json);
  if (data !== undefined) return data;
  throw damagedText(name);
}

function damagedText(name: string): TurnlogError {
  return keyWrong(name, undefined, "its text is damaged. Restore the key store from a copy");
}

function wrappedBy(name: string, stored: string): string | undefined {
  return wrappedText(name, stored)?.by;
}

function unwrapped(name: string, stored: string, known: ReadonlyMap<string, Buffer>): string {
  const found = wrappedText(name, stored);
  if (found === undefined) return stored;
  const master = known.get(found.by);
  if (master === undefined)
    throw keyWrong(
      name,
      undefined,
      `it is wrapped by a master key with the id ${found.by}. Give that key as \`current\` or among \`previous\``,
    );
  const body = Buffer.from(found.text, "base64url");
  const decipher = createDecipheriv(CIPHER, master, Buffer.from(found.nonce, "base64url"))
    .setAAD(Buffer.from(name))
    .setAuthTag(body.subarray(-TAG_BYTES));
  try {
    return (
      decipher.update(body.subarray(0, -TAG_BYTES), undefined, "utf8") + decipher.final("utf8")
    );
  } catch {
    throw keyWrong(
      name,
      undefined,
      "its wrapped text was changed. Restore the key store from a copy",
    );
  }
}
