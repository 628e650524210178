/**
 * Law 9: deltas of 1 to 20 bytes that come one by one, as from a provider. What the store is left
 * with, and what it costs that they are put together when their block is over.
 */

import type { NewEvent } from "../src/events/index.ts";
import { openLog } from "../src/public/index.ts";
import { bytesIn, inFolder } from "./folder.ts";
import { mark, writtenBytes } from "./meter.ts";

const DELTAS = 100_000;
const PER_BLOCK = 300;

export interface SlowStream {
  readonly deltas: number;
  readonly contentBytes: number;
  readonly diskBytes: number;
  readonly writtenBytes: number | undefined;
  /** Microseconds of CPU for a delta, the opening and closing of the store included. */
  readonly cpuUs: number;
  /** The same where each delta is in a block of its own, so that only commits are merged. */
  readonly looseCpuUs: number;
  readonly looseDiskBytes: number;
}

export async function measureSlowStream(): Promise<SlowStream> {
  const loose = await inFolder((dir) => stream(dir, (index) => `${index}`));
  const merged = await inFolder((dir) => stream(dir, () => "0"));
  return { ...merged, looseCpuUs: loose.cpuUs, looseDiskBytes: loose.diskBytes };
}

async function stream(dir: string, blockOf: (index: number) => string) {
  const words = createText(DELTAS * 21);
  const before = writtenBytes();
  const start = mark();
  let contentBytes = 0;
  {
    await using log = await openLog({ dir, durability: "os" });
    let from = 0;
    for (let index = 1; index <= DELTAS; index++) {
      const length = 1 + ((index * 7919) % 20);
      const text = words.slice(from, from + length);
      from += length;
      contentBytes += length;
      const id = blockOf(index);
      const at = 1_790_000_000_000 + index * 13;
      const delta: NewEvent = { type: "part.text-delta", time: at, data: { id, text } };
      const end: NewEvent = { type: "part.text-end", time: at, data: { id } };
      await log.append("s", "any", index % PER_BLOCK === 0 ? [delta, end] : [delta]);
    }
  }
  const cpuUs = ((mark().cpuMs - start.cpuMs) * 1000) / DELTAS;
  const after = writtenBytes();
  return {
    deltas: DELTAS,
    contentBytes,
    diskBytes: await bytesIn(dir),
    writtenBytes: before === undefined || after === undefined ? undefined : after - before,
    cpuUs,
  };
}

/** Words in no order, so that they compress as text does. */
function createText(length: number): string {
  const words = "all the words that a model says when it is asked about a folder of files".split(
    " ",
  );
  let text = "";
  for (let state = 1; text.length < length; state = (state * 48_271) % 2_147_483_647) {
    text += `${words[state % words.length] ?? ""} `;
  }
  return text;
}
