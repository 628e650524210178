/**
 * The blobs of one live session: offloads large content before events are recorded, and expands prompts before
 * a model is called.
 */

import type { ModelMessage } from "ai";
import {
  byId,
  isSameModel,
  TurnlogError,
  type BlobStore,
  type EventBody,
  type ModelName,
  type StoredUserContent,
  type EventLog,
} from "../events/index.ts";
import { type MediaLimits, SentMessages, modelMedia } from "../context/index.ts";
import { type BlobsState, promptMessages } from "../projections/index.ts";
import { type SessionRecorder, type SessionState, stateAt } from "../state/index.ts";
import { mediaLimits, type PreparedAgent, type RecordedPart } from "../agent/index.ts";
import { BlobQuota } from "./used-blobs.ts";
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
import {
  isMadeFile,
  offloadedInput,
  offloadedPart,
  type MadeFile,
  mayHoldContent,
  offloadedAnswer,
  type ToolAnswer,
} from "./offloaded-content.ts";
import { check, code, implementation, optionsOf, position } from "../validation/index.ts";

interface SessionBlobsOptions {
  readonly session: string;
  /** The store to read from; undefined without blobs. */
  readonly store: BlobStore | undefined;
  /** Whether new content is stored there; otherwise it stays in the events. */
  readonly isKept: boolean;
  readonly limits: BlobLimits;
  readonly recorded?: RecordedBlobs | undefined;
  /** The limits of the model; undefined for an unknown model. */
  readonly media: MediaLimits | undefined;
  /** The model. Default: unknown, and files at a provider are sent unchanged. */
  readonly model?: ModelName | undefined;
  /** Makes smaller copies of images. Default: `sharp`, if it is installed. */
  readonly scaler?: () => Promise<ScalePicture | undefined>;
  /** Downloads URLs that the provider does not fetch. Default: URLs are sent unchanged. */
  readonly addresses?: AddressReader | undefined;
  readonly known: () => BlobsState;
  readonly onWarning: (error: TurnlogError) => void;
}

/** The blobs are held until it is disposed of. */
export interface Offloaded<Content> extends Disposable {
  readonly content: Content;
  /** Events to record before the event with the content. */
  readonly stored: readonly EventBody<"blob.stored">[];
}

const noneSent: ReadonlyMap<ModelMessage, ModelMessage> = new Map();

export class SessionBlobs {
  readonly #options: SessionBlobsOptions;
  readonly #quota: BlobQuota;
  readonly #messages: SentMessages;
  #sent: ReadonlyMap<ModelMessage, ModelMessage> = noneSent;
  #isAmongMany = false;
  /** The same for other models of the session's steps. */
  readonly #forModels: SessionBlobs[] = [];
  /** Number of messages that are being processed, and the end of the last one. */
  #inputs = 0;
  #lastInput: Promise<void> = Promise.resolve();

  constructor(options: SessionBlobsOptions) {
    this.#options = options;
    const { session, known, limits } = options;
    this.#quota = new BlobQuota(session, known, limits.maxSessionBytes);
    this.#messages = new SentMessages(options.model);
  }

  /** The same blobs for requests of an agent that may have another model. */
  forAgent({ agent, description: { model } }: PreparedAgent): SessionBlobs {
    const { addresses, model: own } = this.#options;
    if (own === undefined || isSameModel(own, model)) return this;
    const known = this.#forModels.find((one) => isSameModel(one.#options.model, model));
    if (known !== undefined) return known;
    const made = new SessionBlobs({
      ...this.#options,
      model,
      media: mediaLimits(model, agent.context),
      addresses: addresses?.forModel(agent.model),
    });
    this.#forModels.push(made);
    return made;
  }

  /**
   * Offloads a user message. Messages keep their order: text does not overtake an image that was sent
   * before it. Undefined without a wait. @throws TurnlogError `BLOB_TOO_LARGE`, `INVALID_INPUT`, the
   * errors of `BlobStore.put`
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
    const work = this.#checkedInput(content);
    // Waits for the messages before it, even for failed ones.
    await Promise.allSettled([before, work]);
    return await work;
  }

  async #checkedInput(content: StoredUserContent): Promise<Offloaded<StoredUserContent>> {
    const { session, recorded } = this.#options;
    // A recorded message was accepted before.
    if (recorded === undefined) assertSendable(session, content);
    return await this.#offloaded((offload) => offloadedInput(session, content, offload), content);
  }

  #inputEnded(): void {
    this.#inputs -= 1;
  }

  /** Offloads a tool result; undefined without content. After a failure it stays in the event: the tool has run. */
  answer(answer: ToolAnswer): Promise<Offloaded<ToolAnswer>> | undefined {
    if (!this.#options.isKept) return undefined;
    const characters = this.#textLimit;
    const { output, modelOutput } = answer;
    if (!mayHoldContent(output, characters) && !mayHoldContent(modelOutput, characters)) {
      return undefined;
    }
    return this.#offloadedIfPossible(
      (offload) => offloadedAnswer(answer, offload, characters),
      answer,
      "a tool's answer",
    );
  }

  /** Offloads a file that a model generated; undefined for all other parts. */
  part(part: RecordedPart): Promise<Offloaded<RecordedPart>> | undefined {
    if (!isMadeFile(part) || !this.#options.isKept) return undefined;
    const made: MadeFile = part;
    return this.#offloadedIfPossible<RecordedPart>(
      (offload) => offloadedPart(made, offload),
      part,
      "a file that the model made",
    );
  }

  /**
   * The messages as sent: with media, and without what the model refuses, such as a call id that comes
   * again. Unchanged ones are the same objects.
   * @param signal - The call's. Without it, URLs are not downloaded.
   */
  async expand(
    prompt: readonly ModelMessage[],
    signal?: AbortSignal,
  ): Promise<readonly ModelMessage[]> {
    const messages = this.#messages.messagesToSend(prompt);
    if (!messages.some(isToBeExpanded)) return messages;
    const { store, media, model, known, addresses, scaler = installedScaler } = this.#options;
    const userMessages = messages.filter(({ role }) => role === "user").length;
    const read: BlobExpansion["read"] =
      addresses &&
      signal &&
      ((url, declared) => addresses.read(url, declared, { userMessages, signal }));
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
      // Missing media may be available at the next request.
      if (made.isWhole) sent.set(message, made.message);
      expanded.push(made.message);
    }
    this.#sent = sent;
    return expanded;
  }

  /**
   * Before offloaded content is recorded: an earlier actor may have claimed it.
   * @throws TurnlogError `BLOB_TOO_LARGE`
   */
  assertWithinQuota(stored: readonly EventBody<"blob.stored">[]): void {
    // Recorded content was accepted before.
    if (this.#options.recorded === undefined) this.#quota.assertWithin(stored);
  }

  /** Shorter text is not searched: its content would stay in the event anyway. */
  get #textLimit(): number {
    return Math.ceil(((this.#options.limits.inlineBytes ?? DEFAULT_INLINE_BYTES) * 4) / 3);
  }

  async #offloadedIfPossible<Content>(
    work: (offload: BlobOffload) => Promise<Content>,
    content: Content,
    what: string,
  ): Promise<Offloaded<Content>> {
    try {
      return await this.#offloaded(work, content);
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

  async #offloaded<Content>(
    work: (offload: BlobOffload) => Promise<Content>,
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
        content: await work(offload),
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

/** Records an event after its blobs, each blob once a session, all in one append. */
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

// The blob store of a runtime, by its options and its log.

export interface BlobOptions extends BlobLimits {
  /** Default: the blob store of the log (`EventLog.blobs`). */
  readonly store?: BlobStore;
  /** For replays only. */
  readonly recorded?: RecordedBlobs;
}

export interface OpenedBlobs {
  /** The store to read from; undefined without blobs. */
  readonly store: BlobStore | undefined;
  /** Whether new content is stored there. */
  readonly isKept: boolean;
  readonly limits: BlobLimits;
  readonly recorded?: RecordedBlobs | undefined;
}

export function openBlobs(
  {
    blobs = {},
    encryption,
  }: { readonly blobs?: BlobOptions | false; readonly encryption?: object },
  log: EventLog,
): OpenedBlobs {
  // Blobs are not encrypted, so an encrypted session keeps its content in events.
  if (blobs === false || encryption !== undefined)
    return { store: log.blobs, isKept: false, limits: {} };
  const { store = log.blobs, recorded, ...limits } = blobs;
  return { store, isKept: store !== undefined, limits, recorded };
}

/** An agent whose token counter gets prompts with their media. */
export function withExpansion(prepared: PreparedAgent, blobs: SessionBlobs): PreparedAgent {
  const { context } = prepared.agent;
  const counter = context?.counter;
  if (counter === undefined) return prepared;
  const expanding: typeof counter = {
    ...counter,
    count: async (request) =>
      await counter.count({ ...request, messages: await blobs.expand(request.messages) }),
  };
  return { ...prepared, agent: { ...prepared.agent, context: { ...context, counter: expanding } } };
}

// Reads the prompt of a stored session with its media, to show or export it.

interface PromptWithMediaOptions {
  /** The position of the prompt. Default: the last. */
  readonly position?: number;
  /** The model for which media are chosen. Default: the model of the last step before the position. */
  readonly model?: ModelName;
  /** The store of the blobs. Default: that of the log. */
  readonly blobs?: BlobStore;
}

/** The model of a session without steps: it accepts all media. */
const ANY: ModelName = { provider: "any", modelId: "any" };

const schema = optionsOf<PromptWithMediaOptions>(
  { position, model: implementation({}), blobs: implementation({ get: code }) },
  {},
);

export async function promptWithMedia(
  log: EventLog,
  session: string,
  options: PromptWithMediaOptions = {},
): Promise<readonly ModelMessage[]> {
  check(schema, options, "promptWithMedia", { name: "options", session });
  const { model, blobs: store = log.blobs } = options;
  const state = await stateAt(log, session, options.position);
  const shownTo = model ?? lastModel(state);
  const blobs = new SessionBlobs({
    session,
    store,
    isKept: false,
    limits: {},
    media: modelMedia(shownTo ?? ANY),
    model: shownTo,
    known: () => state.blobs,
    onWarning: () => {},
  });
  return await blobs.expand(promptMessages(state.history, state.view));
}

function lastModel({ history: { items, open } }: SessionState): ModelName | undefined {
  const last = open ?? items.findLast((item) => item.kind === "step");
  return last?.kind === "step" ? last.model : undefined;
}
