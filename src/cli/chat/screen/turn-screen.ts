/** Writes a turn as text, from its events and nothing else. */

import type { SessionEvent } from "../../../events/index.ts";
import { EventLines, type EventLinesOptions } from "../../wording/event-lines.ts";
import type { Output, Style } from "../../output/output.ts";
import { TurnWriter } from "./turn-writer.ts";

export interface TurnScreenOptions extends Omit<EventLinesOptions, "columns"> {
  /** Whether to show what the turn waits for, in place of the next line. Default: true. */
  readonly showsActivity?: boolean;
}

export class TurnScreen {
  readonly #writer: TurnWriter;
  readonly #lines: EventLines;
  readonly #showsActivity: boolean;

  constructor(output: Output, { showsActivity = true, ...options }: TurnScreenOptions = {}) {
    this.#writer = new TurnWriter(output);
    this.#showsActivity = showsActivity;
    this.#lines = new EventLines({ ...options, columns: () => output.progress.columns });
  }

  describeCall(callId: string): string {
    return this.#lines.describeCall(callId);
  }

  /** Moves the cursor to the start of a line, so that other text can follow. */
  async endLine(): Promise<void> {
    await this.#writer.endBlock();
  }

  async note(line: string, style: Style = "dim"): Promise<void> {
    await this.#writer.note(line, style);
  }

  async show(event: SessionEvent): Promise<void> {
    for (const { text, style, isMessage = false } of this.#lines.take(event)) {
      if (isMessage) await this.#writer.note("");
      await this.#writer.note(text, style);
      if (isMessage) await this.#writer.note("");
    }
    switch (event.type) {
      case "step.started":
        if (this.#showsActivity) await this.#writer.status(`${event.data.model.modelId} …`);
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
      default:
    }
  }
}
