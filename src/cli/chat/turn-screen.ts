/** Writes a turn as text, from its events and nothing else. */

import type { SessionEvent } from "../../events/index.ts";
import { CallLines } from "./call-lines.ts";
import type { OpenCall } from "./conversation-state.ts";
import {
  ContextNotices,
  type ContextNotice,
  limitSentence,
  retrySentence,
  jsonExcerpt,
} from "../wording/index.ts";
import type { Output, Style } from "../output/index.ts";
import { TurnWriter } from "./turn-writer.ts";
import { costLine, emptyTally, endingSentence, tally, type TurnTally } from "./turn-ending.ts";

export interface TurnScreenOptions {
  /** Whether to show what the turn waits for, in place of the next line. Default: true. */
  readonly showsActivity?: boolean;
  /** Whether notes name slash commands that help. Default: false. */
  readonly namesCommands?: boolean;
  /** Calls of a step that began before this screen. */
  readonly open?: readonly OpenCall[];
}

export class TurnScreen {
  readonly #writer: TurnWriter;
  readonly #calls: CallLines;
  readonly #showsActivity: boolean;
  readonly #namesCommands: boolean;
  readonly #notices = new ContextNotices();
  #tally: TurnTally = emptyTally;

  constructor(output: Output, options: TurnScreenOptions = {}) {
    const { showsActivity = true, namesCommands = false, open = [] } = options;
    this.#writer = new TurnWriter(output);
    this.#namesCommands = namesCommands;
    this.#showsActivity = showsActivity;
    this.#calls = new CallLines(() => output.progress.columns, open);
  }

  describeCall(callId: string): string {
    return this.#calls.describe(callId);
  }

  /** Moves the cursor to the start of a line, so that other text can follow. */
  async endLine(): Promise<void> {
    await this.#writer.endBlock();
  }

  async note(line: string, style: Style = "dim"): Promise<void> {
    await this.#writer.note(line, style);
  }

  async show(event: SessionEvent): Promise<void> {
    this.#tally = tally(event.type === "turn.started" ? emptyTally : this.#tally, event);
    for (const notice of this.#notices.take(event)) await this.#writeNotice(notice);
    const line = this.#calls.take(event);
    if (line !== undefined) return await this.#writer.note(line.text, line.style);
    switch (event.type) {
      case "step.started":
        if (!this.#showsActivity) return;
        return await this.#writer.status(`${event.data.model.modelId} …`);
      case "step.retrying":
        return await this.#writer.note(retrySentence(event), "yellow");
      case "turn.limit-reached":
        return await this.#warn(limitSentence(event));
      case "part.start-step":
        for (const warning of event.data.warnings) {
          await this.#writer.note(`warning: ${jsonExcerpt(warning, 200)}`, "yellow");
        }
        return;
      case "part.text-delta":
        return await this.#writer.writeText({ kind: "text", id: event.data.id }, event.data.text);
      case "part.reasoning-delta":
        return await this.#writer.writeText(
          { kind: "reasoning", id: event.data.id },
          event.data.text,
        );
      case "part.text-end":
      case "part.reasoning-end":
        return await this.#writer.endBlock();
      case "part.source":
        return await this.#writer.note(`source: ${jsonExcerpt(event.data, 160)}`);
      case "turn.ended": {
        await this.#warn(endingSentence(event.data.reason, this.#tally));
        return await this.#writer.note(costLine(event, this.#tally));
      }
      default:
    }
  }

  async #writeNotice({ event, text, isTrouble }: ContextNotice): Promise<void> {
    const isUndoable = [
      "context.pruned",
      "context.media-omitted",
      "context.reduced",
      "context.compacted",
    ].includes(event.type);
    const undo = isUndoable && this.#namesCommands ? ` /restore ${event.position} undoes it.` : "";
    await this.#writer.note(`${text}${undo}`, isTrouble ? "yellow" : "dim");
  }

  async #warn(sentence: string | undefined): Promise<void> {
    if (sentence !== undefined) await this.#writer.note(sentence, "yellow");
  }
}
