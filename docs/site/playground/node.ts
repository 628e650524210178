/** What turnlog takes from Node, for sessions in memory in a page. What only a store on disk needs throws. */

import { sha256 } from "@noble/hashes/sha2.js";
import { bytesToHex } from "@noble/hashes/utils.js";

export { crc32 } from "../../../src/events/rows/crc32.ts";

type Data = string | Uint8Array;

const bytesOf = (data: Data): Uint8Array =>
  typeof data === "string" ? new TextEncoder().encode(data) : data;

/** The log and the prompts are digested with SHA-256 only. */
export const hash = (_algorithm: string, data: Data): string => bytesToHex(sha256(bytesOf(data)));

export function createHash() {
  const state = sha256.create();
  return {
    update(data: Data) {
      state.update(bytesOf(data));
      return this;
    },
    digest: () => bytesToHex(state.digest()),
    copy: () => {
      throw new Error("Only Node copies a hash.");
    },
  };
}

export const randomUUID = (): string => crypto.randomUUID();

/** A page has one session of the program that made it: there is no context to keep apart. */
export class AsyncLocalStorage {
  static snapshot() {
    return <Result>(work: () => Result): Result => work();
  }
}

export function isDeepStrictEqual(one: unknown, other: unknown): boolean {
  if (Object.is(one, other)) return true;
  if (typeof one !== "object" || typeof other !== "object" || one === null || other === null)
    return false;
  const keys = Object.keys(one);
  return (
    Object.getPrototypeOf(one) === Object.getPrototypeOf(other) &&
    keys.length === Object.keys(other).length &&
    keys.every(
      (key) =>
        Object.hasOwn(other, key) &&
        isDeepStrictEqual(Reflect.get(one, key), Reflect.get(other, key)),
    )
  );
}

export const types = { isProxy: (): boolean => false };

const setTimeoutLater = async <Value>(ms: number, value?: Value): Promise<Value | undefined> =>
  await new Promise((resolve) => globalThis.setTimeout(() => resolve(value), ms));
export { setTimeoutLater as setTimeout };

export const setImmediate = async (): Promise<void> => void (await setTimeoutLater(0));

const onDisk = (): never => {
  throw new Error("A page has no disk: say `memory: true`.");
};
export const promisify = () => onDisk;
