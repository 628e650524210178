/** Preliminary outputs of a running tool, and the blobs of outputs until their events are durable. */

import type { JsonValue } from "../../events/index.ts";
import { recordOffloaded, type SessionBlobs } from "../../media/index.ts";
import type { SessionRecorder } from "../../state/index.ts";

interface Progress {
  readonly recorder: SessionRecorder;
  readonly blobs: Pick<SessionBlobs, "answer">;
  readonly key: { readonly step: number; readonly callId: string };
  /** Whether the call still runs: a late output changes nothing. */
  readonly isRunning: () => boolean;
}

/** Records a preliminary output. Returns a wait if media must be stored first. */
export function recordProgress(
  { recorder, blobs, key, isRunning }: Progress,
  output: JsonValue,
): Promise<void> | undefined {
  const record = (shown: JsonValue, stored: Parameters<typeof recordOffloaded>[1] = []): void => {
    if (!isRunning()) return;
    const data = { ...key, output: shown };
    recordOffloaded(recorder, stored, { type: "tool.progressed", data });
  };
  const offloading = blobs.answer({ output, modelOutput: undefined });
  if (offloading === undefined) {
    record(output);
    return undefined;
  }
  return offloading.then((offloaded) => {
    record(offloaded.content.output, offloaded.stored);
    releaseWhenDurable(recorder, offloaded);
  });
}

/** Holds stored blobs until the event that refers to them is durable or has failed. */
export function releaseWhenDurable(recorder: SessionRecorder, offloaded: Disposable): void {
  const release = (): void => {
    offloaded[Symbol.dispose]();
  };
  void recorder.durable().then(release, release);
}
