/** The prompt of a session as it is sent, with its media, read from its log: to look at, or to take elsewhere. */

import { check, code, implementation, optionsOf, position } from "../validation/index.ts";
import type { BlobStore, EventLog, ModelName } from "../events/index.ts";
import { modelMedia } from "../context/index.ts";
import { promptMessages } from "../projections/index.ts";
import { type SessionState, stateAt } from "../state/index.ts";
import { blobsOf } from "./opened-blobs.ts";
import { SessionBlobs } from "./session-blobs.ts";
import type { ModelMessage } from "ai";

/** Which prompt is looked at, and for whom. */
export interface PromptWithMediaOptions {
  /** A position; default: the last. */
  readonly at?: number;
  /** Who would be shown it. Default: the model of the last step up to there. */
  readonly model?: ModelName;
  /** Where blobs lie. Default: those of the log. */
  readonly blobs?: BlobStore;
}

/** Of a session in which no model was called yet: everything is shown that can be. */
const ANY: ModelName = { provider: "any", modelId: "any" };

const schema = optionsOf<PromptWithMediaOptions>(
  { at: position, model: implementation({}), blobs: implementation({ get: code }) },
  {},
);

/**
 * The messages that a step would send at a position, with media in the place of references. What the
 * model does not take, and what is missing, is a note there as it is in the call. Addresses stay addresses.
 * @throws TurnlogError `SESSION_NOT_FOUND`, `INVALID_INPUT` for a position that there is not
 */
export async function promptWithMedia(
  log: EventLog,
  session: string,
  options: PromptWithMediaOptions = {},
): Promise<readonly ModelMessage[]> {
  check(schema, options, "promptWithMedia", { name: "options", session });
  const { at, model, blobs: store = blobsOf(log) } = options;
  const state = await stateAt(log, session, at);
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
