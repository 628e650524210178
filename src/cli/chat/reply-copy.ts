/**
 * Copies replies to stdout when the chat draws its screen on stderr. A file gets them at once. The
 * reader of a pipe may show them on the same screen (`| tee talk.txt`), so a pipe gets them at the end.
 */

import type { SessionEvent } from "../../events/index.ts";
import type { Channel } from "../output/output.ts";
import { writingBy } from "../output/interleaved-output.ts";
import { TurnScreen } from "./turn-screen.ts";

export class ReplyCopy {
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
