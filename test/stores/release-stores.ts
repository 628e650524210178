/**
 * The stores of a release, `fixtures/stores/<release>`: `stores.tar.gz` has a store whose process was
 * killed (`plain`), an encrypted one with its keys (`encrypted`, `keys`), a backup (`backup`) and
 * exports (`exports`); `meanings.json.gz` tells what their sessions meant when they were made.
 */

import { execFile } from "node:child_process";
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import { gunzipSync } from "node:zlib";
import { z } from "zod";
import {
  type JsonValue,
  type SessionEvent,
  jsonSchema,
  loggedForm,
} from "../../src/events/index.ts";
import { listSessions } from "../../src/state/index.ts";
import { viewSession, type EventLog } from "../../src/public/index.ts";

/** Oldest first. */
export const releases: readonly string[] = ["0.1.0"];

/** Before its release, a form is kept as a pre-release. */
const preReleases: readonly string[] = ["0.2.0-pre.1"];

/** All whose stores are kept. */
export const kept: readonly string[] = [...releases, ...preReleases];

/** Those with named agents, messages for later and sub-agents. */
export const withService: readonly string[] = kept.filter((release) => release !== "0.1.0");

/** What a session means: what is stored to the byte, and what is made of it. */
export interface Meaning {
  /** Over all events as they are stored, at their positions. */
  readonly stored: string;
  readonly prompt: readonly JsonValue[];
  /** History, figures, calls, queue and state; and what the list of sessions says. */
  readonly shown: JsonValue;
}

/** By the name of the store, and of the session. */
export type Meanings = Readonly<Record<string, Readonly<Record<string, Meaning>>>>;

const meaningsSchema: z.ZodType<Meanings> = z.record(
  z.string(),
  z.record(
    z.string(),
    z.object({ stored: z.string(), prompt: z.array(jsonSchema), shown: jsonSchema }),
  ),
);

export function releasePath(release: string, file: string): string {
  return fileURLToPath(new URL(`../../fixtures/stores/${release}/${file}`, import.meta.url));
}

/** Unpacks the stores of a release into a folder. */
export async function unpackStores(release: string, dir: string): Promise<void> {
  await promisify(execFile)("tar", ["-xzf", releasePath(release, "stores.tar.gz"), "-C", dir]);
}

export async function readMeanings(release: string): Promise<Meanings> {
  const text = gunzipSync(await readFile(releasePath(release, "meanings.json.gz"))).toString();
  return meaningsSchema.parse(JSON.parse(text));
}

/** What every session of a log means. */
export async function meaningsOf(log: EventLog): Promise<Record<string, Meaning>> {
  const meanings: Record<string, Meaning> = {};
  for await (const listed of listSessions(log)) {
    const { session } = listed;
    const { prompt, ...view } = await viewSession(log, session);
    const stored = await Array.fromAsync(log.read(session));
    meanings[session] = {
      stored: hash("sha256", stored.map(storedLine).join("\n")),
      prompt: z.array(jsonSchema).parse(plain(prompt.messages)),
      shown: plain({ listed, view }),
    };
  }
  return meanings;
}

/** Type, version and data are those of the log, whatever a later release reads them as. */
function storedLine(event: SessionEvent): string {
  const { type, version, data } = loggedForm(event);
  return JSON.stringify([event.position, event.time, type, version, data, event.id]);
}

/** Through JSON, in which what is absent and what is undefined are the same. */
function plain(value: unknown): JsonValue {
  return jsonSchema.parse(JSON.parse(JSON.stringify(value)));
}
