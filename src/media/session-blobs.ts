/**
 * The blobs of one live session: moves what is large out of its events before they are recorded, and
 * puts it back into its prompts before a model is called. Made by the runtime for each actor.
 */

import type { ModelMessage } from "ai";
import {
  byId,
  TurnlogError,
  type BlobStore,
  type EventBody,
  type ModelName,
  type StoredUserContent,
} from "../events/index.ts";
import { CallIds, type MediaLimits } from "../context/index.ts";
import type { BlobsState } from "../projections/index.ts";
import type { SessionRecorder } from "../state/index.ts";
import type { RecordedPart } from "../agent/index.ts";
import { BlobQuota } from "./blob-quota.ts";
import {
  BlobOffload,
  DEFAULT_INLINE_BYTES,
  type BlobLimits,
  type RecordedBlobs,
} from "./blob-offload.ts";
import type { AddressReader } from "./address-content.ts";
import { expandedMessage, imagesIn, isToBeExpanded } from "./blob-expansion.ts";
import { assertSendable } from "./file-data.ts";
import { installedScaler, type ScalePicture } from "./scaled-picture.ts";
import type { BlobExpansion } from "./sent-file.ts";
import { isMadeFile, offloadedInput, offloadedPart, type MadeFile } from "./offloaded-input.ts";
import { mayHoldContent, offloadedAnswer, type ToolAnswer } from "./offloaded-result.ts";

export interface SessionBlobsOptions {
  readonly session: string;
  /** Where they are read; undefined where nobody has any. */
  readonly store: BlobStore | undefined;
  /** Whether content is moved there; else it stays in the events. */
  readonly isKept: boolean;
  readonly limits: BlobLimits;
  readonly recorded?: RecordedBlobs | undefined;
  /** What the model takes that is to be shown them; undefined where nothing is known of it. */
  readonly media: MediaLimits | undefined;
  /** That model. Default: nobody knows, and what lies with a provider is left as it is. */
  readonly model?: ModelName | undefined;
  /** Who makes smaller copies of pictures. Default: `sharp`, where it is installed. */
  readonly scaler?: () => Promise<ScalePicture | undefined>;
  /** Who reads addresses that the provider does not. Default: nobody, and they stay what they are. */
  readonly addresses?: AddressReader | undefined;
  readonly known: () => BlobsState;
  readonly onWarning: (error: TurnlogError) => void;
}

/** Content with what was moved out of it, held until it is disposed of. */
export interface Offloaded<Content> extends Disposable {
  readonly content: Content;
  /** To be recorded in front of what has the content. */
  readonly stored: readonly EventBody<"blob.stored">[];
}

const noneSent: ReadonlyMap<ModelMessage, ModelMessage> = new Map();

export class SessionBlobs {
  readonly #options: SessionBlobsOptions;
  readonly #quota: BlobQuota;
  readonly #callIds: CallIds;
  /** The messages of the last prompt that were expanded, as they were sent. */
  #sent: ReadonlyMap<ModelMessage, ModelMessage> = noneSent;
  #isAmongMany = false;
  /** Messages whose content is being looked at, and the end of the last one. */
  #inputs = 0;
  #lastInput: Promise<void> = Promise.resolve();

  constructor(options: SessionBlobsOptions) {
    this.#options = options;
    const { session, known, limits } = options;
    this.#quota = new BlobQuota(session, known, limits.maxSessionBytes);
    this.#callIds = new CallIds(options.model);
  }

  /**
   * The content of a message, in the order in which messages came: a picture is not overtaken by the
   * words behind it. Undefined where nothing is to be waited for.
   * @throws TurnlogError `BLOB_TOO_LARGE`, `INVALID_INPUT`, and what `BlobStore.put` throws
   */
  input(content: StoredUserContent): Promise<Offloaded<StoredUserContent>> | undefined {
    if (typeof content === "string" && this.#inputs === 0) return undefined;
    const before = this.#lastInput;
    const made = this.#input(content, before);
    this.#inputs += 1;
    this.#lastInput = made.then(
      () => this.#inputEnded(),
      () => this.#inputEnded(),
    );
    return made;
  }

  async #input(
    content: StoredUserContent,
    before: Promise<void>,
  ): Promise<Offloaded<StoredUserContent>> {
    const work = this.#readable(content);
    // Whatever became of those before it; what becomes of this one is told in its turn.
    await Promise.allSettled([before, work]);
    return await work;
  }

  async #readable(content: StoredUserContent): Promise<Offloaded<StoredUserContent>> {
    const { session, recorded } = this.#options;
    // What is in a recording was accepted.
    if (recorded === undefined) assertSendable(session, content);
    return await this.#shelved((offload) => offloadedInput(session, content, offload), content);
  }

  #inputEnded(): void {
    this.#inputs -= 1;
  }

  /**
   * What a tool answered; undefined where there is nothing to move. Nothing that goes wrong with a
   * blob undoes what the tool has done.
   */
  answer(answer: ToolAnswer): Promise<Offloaded<ToolAnswer>> | undefined {
    if (!this.#options.isKept) return undefined;
    const characters = this.#textLimit;
    const { output, modelOutput } = answer;
    if (!mayHoldContent(output, characters) && !mayHoldContent(modelOutput, characters)) {
      return undefined;
    }
    return this.#whateverHappens(
      (offload) => offloadedAnswer(answer, offload, characters),
      answer,
      "a tool's answer",
    );
  }

  /** A part of a reply, where a model made a file in it; undefined for all others, which come by the thousand. */
  part(part: RecordedPart): Promise<Offloaded<RecordedPart>> | undefined {
    if (!isMadeFile(part) || !this.#options.isKept) return undefined;
    const made: MadeFile = part;
    return this.#whateverHappens<RecordedPart>(
      (offload) => offloadedPart(made, offload),
      part,
      "a file that the model made",
    );
  }

  /**
   * The messages as they are sent, with the ids of calls that the model takes; the same ones where nothing
   * in them is another one.
   * @param signal - Of the call that they are for; without it, addresses are not read.
   */
  async expand(
    prompt: readonly ModelMessage[],
    signal?: AbortSignal,
  ): Promise<readonly ModelMessage[]> {
    const messages = this.#callIds.sent(prompt);
    if (!messages.some(isToBeExpanded)) return messages;
    const { store, media, model, known, addresses, scaler = installedScaler } = this.#options;
    const said = messages.filter(({ role }) => role === "user").length;
    const read: BlobExpansion["read"] =
      addresses && signal && ((url, declared) => addresses.read(url, declared, { said, signal }));
    const pictures = messages.reduce((sum, one) => sum + imagesIn(one), 0);
    const isAmongMany = pictures > (media?.pictureEdgeAmong?.more ?? Number.POSITIVE_INFINITY);
    const before = isAmongMany === this.#isAmongMany ? this.#sent : noneSent;
    this.#isAmongMany = isAmongMany;
    const sent = new Map<ModelMessage, ModelMessage>();
    const expanded: ModelMessage[] = [];
    for (const message of messages) {
      if (!isToBeExpanded(message)) {
        expanded.push(message);
        continue;
      }
      const same = before.get(message);
      const made =
        same === undefined
          ? await expandedMessage(message, {
              blobs: known(),
              store,
              media,
              model,
              pictures,
              scaler,
              read,
            })
          : { message: same, isWhole: true };
      // What could not be read may be back the next time.
      if (made.isWhole) sent.set(message, made.message);
      expanded.push(made.message);
    }
    this.#sent = sent;
    return expanded;
  }

  /**
   * Looks once more before what was shelved is recorded: it may have been another actor's to shelve.
   * @throws TurnlogError `BLOB_TOO_LARGE`
   */
  assertRoomFor(stored: readonly EventBody<"blob.stored">[]): void {
    // What is in a recording was accepted.
    if (this.#options.recorded === undefined) this.#quota.assertRoomFor(stored);
  }

  /** Characters below which no text is looked at: base64 of what stays in the events anyway. */
  get #textLimit(): number {
    return Math.ceil(((this.#options.limits.inlineBytes ?? DEFAULT_INLINE_BYTES) * 4) / 3);
  }

  async #whateverHappens<Content>(
    shelve: (offload: BlobOffload) => Promise<Content>,
    content: Content,
    what: string,
  ): Promise<Offloaded<Content>> {
    try {
      return await this.#shelved(shelve, content);
    } catch (cause) {
      const { session, onWarning } = this.#options;
      const code = TurnlogError.isInstance(cause) ? cause.code : "LOG_FAILED";
      onWarning(
        new TurnlogError(
          code,
          `The content of ${what} in session ${session} could not be kept as a blob, and stays in the event: nothing is lost.`,
          { session, cause },
        ),
      );
      return untouched(content);
    }
  }

  async #shelved<Content>(
    shelve: (offload: BlobOffload) => Promise<Content>,
    content: Content,
  ): Promise<Offloaded<Content>> {
    const { session, store, isKept, limits, recorded, known } = this.#options;
    if (store === undefined || !isKept) return untouched(content);
    const offload = new BlobOffload({
      session,
      store,
      limits,
      recorded,
      known,
      quota: this.#quota,
    });
    try {
      return {
        content: await shelve(offload),
        stored: offload.stored,
        [Symbol.dispose]: () => {
          offload[Symbol.dispose]();
        },
      };
    } catch (error) {
      offload[Symbol.dispose]();
      throw error;
    }
  }
}

function untouched<Content>(content: Content): Offloaded<Content> {
  return { content, stored: [], [Symbol.dispose]: () => {} };
}

/** Records an event behind the blobs that it refers to: each once a session, all in one append. */
export function recordOffloaded(
  recorder: Pick<SessionRecorder, "state" | "record">,
  stored: readonly EventBody<"blob.stored">[],
  body: EventBody,
): void {
  for (const blob of stored) {
    if (byId(recorder.state.blobs.stored, blob.data.sha256) === undefined) recorder.record(blob);
  }
  recorder.record(body);
}
