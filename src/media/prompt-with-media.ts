/** Reads the prompt of a stored session with its media, to show or export it. */

import { check, code, implementation, optionsOf, position } from "../validation/index.ts";
import type { BlobStore, EventLog, ModelName } from "../events/index.ts";
import { modelMedia } from "../context/index.ts";
import { promptMessages } from "../projections/index.ts";
import { type SessionState, stateAt } from "../state/index.ts";
import { SessionBlobs } from "./blobs-of-session.ts";
import type { ModelMessage } from "ai";

export interface PromptWithMediaOptions {
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
