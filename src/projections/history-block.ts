/** Text and reasoning blocks of the open step: they start, grow and end, several side by side. */

import { REDACTED, sendableMetadata, type ProviderMetadata } from "../events/index.ts";
import type { BlockPart, StepItem } from "./history-item.ts";

interface BlockData {
  readonly id: string;
  readonly providerMetadata?: ProviderMetadata;
  /** What it said was taken out of the log. */
  readonly dropped?: true;
  /** What it said is gone. */
  readonly redacted?: boolean;
}

type BlockKind = BlockPart["kind"];

export function withBlockStart(step: StepItem, kind: BlockKind, data: BlockData): StepItem {
  return {
    ...step,
    parts: [...step.parts, { kind, id: data.id, text: "", open: true, ...metadata(data) }],
  };
}

/** A delta of a block that never started begins it: some providers leave the start out. */
export function withBlockDelta(
  step: StepItem,
  kind: BlockKind,
  data: BlockData & { readonly text: string },
): StepItem {
  return change(step, kind, data, (block) => ({
    ...block,
    text: withText(block, data, data.text),
    ...metadata(data),
  }));
}

export function withBlockEnd(step: StepItem, kind: BlockKind, data: BlockData): StepItem {
  return change(step, kind, data, (block) => ({
    ...block,
    text: withText(block, data, ""),
    open: false,
    ...metadata(data),
  }));
}

/** However many of its events were redacted, a block says so once. */
function withText(block: BlockPart, { redacted }: BlockData, text: string): string {
  return redacted === true && block.text === "" ? REDACTED : block.text + text;
}

/** The newest metadata of a block replaces what came before, as in the AI SDK. */
function metadata({ providerMetadata, dropped }: BlockData): Omit<BlockData, "id"> {
  return {
    ...(providerMetadata === undefined
      ? {}
      : { providerMetadata: sendableMetadata(providerMetadata) }),
    ...(dropped === undefined ? {} : { dropped }),
  };
}

function change(
  step: StepItem,
  kind: BlockKind,
  data: BlockData,
  to: (block: BlockPart) => BlockPart,
): StepItem {
  for (let index = step.parts.length - 1; index >= 0; index--) {
    const part = step.parts[index];
    if (part !== undefined && part.kind === kind && part.id === data.id && part.open) {
      return { ...step, parts: step.parts.with(index, to(part)) };
    }
  }
  return change(withBlockStart(step, kind, data), kind, data, to);
}
