/** The screen of a chat: the session's events above, the panel below. It shows nothing but events. */

import type { SessionEvent } from "../../../events/index.ts";
import { reportError } from "../../output/error-report.ts";
import type { Output, Channel } from "../../output/output.ts";
import { visibleName } from "../../output/visible-text.ts";
import type { LiveScreen } from "../../terminal/live-screen.ts";
import { questionLines } from "../../wording/event-lines.ts";
import { usualLengths } from "../../wording/wording.ts";
import { panel, type PanelOptions } from "./conversation-panel.ts";
import { foldConversation, questionsOf, type ConversationState } from "./conversation-state.ts";
import { liveOutput, windowOf } from "./live-output.ts";
import { TurnScreen, type TurnScreenOptions } from "./turn-screen.ts";
import { writingBy } from "../../output/interleaved-output.ts";

/** Most characters of a message that are shown again: pasted texts may be long. */
const MESSAGE_LENGTH = 1000;

const BELL = "\u0007";

export interface ChatScreenOptions {
  readonly output: Output;
  readonly debug: boolean;
  readonly state: ConversationState;
  readonly present?: TurnScreenOptions["present"];
}

export class ChatScreen {
  readonly #options: ChatScreenOptions;
  readonly #live: LiveScreen;
  readonly #above: Output;
  #turn: TurnScreen;
  /** Writes replies to stdout, if stdout is not this screen. */
  readonly #copy: ReplyCopy | undefined;
  #state: ConversationState;

  constructor(options: ChatScreenOptions) {
    const { output, state } = options;
    this.#options = options;
    this.#state = state;
    const { live, above } = liveOutput(output.progress);
    this.#live = live;
    this.#above = { data: above, progress: above };
    this.#turn = this.#screenOf(state);
    this.#copy = output.data.isTerminal ? undefined : new ReplyCopy(output.data);
  }

  get state(): ConversationState {
    return this.#state;
  }

  get columns(): number {
    return windowOf(this.#options.output.progress).columns;
  }

  /** Shows the questions that were open when the session was left. */
  async begin(): Promise<void> {
    for (const question of questionsOf(this.#state)) {
      for (const { text, style } of questionLines(question, this.#options.present))
        await this.#turn.note(text, style);
    }
  }

  /** Switches to another session, which is at rest. */
  switchTo(state: ConversationState): void {
    this.#state = state;
    this.#turn = this.#screenOf(state);
  }

  #screenOf({ calls, queue }: ConversationState): TurnScreen {
    const lengths = { ...usualLengths, text: MESSAGE_LENGTH };
    const open = { open: calls, queue };
    return new TurnScreen(this.#above, {
      showsActivity: false,
      isWhole: true,
      namesCommands: true,
      lengths,
      present: this.#options.present,
      ...open,
    });
  }

  async show(event: SessionEvent): Promise<void> {
    this.#state = foldConversation(this.#state, event);
    await this.#turn.show(event);
    await this.#copy?.show(event);
  }

  async notes(lines: readonly string[], style: "dim" | "yellow" | "bold" = "dim"): Promise<void> {
    for (const line of lines) await this.#turn.note(line, style);
  }

  async showError(error: unknown): Promise<void> {
    await this.#turn.endLine();
    await reportError(this.#above.progress, error, this.#options.debug);
  }

  /** Draws the panel for the present state. */
  async draw(typed: Omit<PanelOptions, "state" | "columns" | "rows" | "style">): Promise<void> {
    const { progress } = this.#options.output;
    const style = progress.style.bind(progress);
    await this.#live.draw(panel({ ...typed, state: this.#state, ...windowOf(progress), style }));
  }

  /** Rings the bell, or shows the words where the terminal can. */
  async ring(notice: "bell" | "osc-9", words: string): Promise<void> {
    const sequence = notice === "bell" ? BELL : `\u001B]9;${visibleName(words)}${BELL}`;
    await this.#options.output.progress.write(sequence);
  }

  /** Erases what the terminal shows; the next drawing is on top. */
  async clear(): Promise<void> {
    await this.#live.clear();
  }

  /** Removes the panel until the next drawing. */
  async hide(): Promise<void> {
    await this.#live.close();
  }

  /** Removes the panel and leaves the text on the screen. */
  async close(): Promise<void> {
    await this.#turn.endLine();
    await this.#live.close();
    await this.#copy?.close();
  }
}

/**
 * Copies replies to stdout when the chat draws its screen on stderr. A file gets them at once. The
 * reader of a pipe may show them on the same screen (`| tee talk.txt`), so a pipe gets them at the end.
 */
class ReplyCopy {
  readonly #data: Channel;
  readonly #turn: TurnScreen;
  #buffered = "";

  constructor(data: Channel) {
    this.#data = data;
    const buffer = async (text: string): Promise<void> => {
      this.#buffered += text;
    };
    const nowhere = writingBy(data, async () => {});
    this.#turn = new TurnScreen({
      data: data.isPipe ? writingBy(data, buffer) : data,
      progress: nowhere,
    });
  }

  async show(event: SessionEvent): Promise<void> {
    await this.#turn.show(event);
  }

  /** Writes the buffered replies. Call after the chat has left the screen. */
  async close(): Promise<void> {
    await this.#turn.endLine();
    if (this.#buffered !== "") await this.#data.write(this.#buffered);
    this.#buffered = "";
  }
}
