/**
 * What the model says in a chat whose stdout is not its screen. A file has it as it comes. Who reads a
 * pipe may show it on the very screen that the chat draws (`| tee talk.txt`): it comes when that is over.
 */

import type { SessionEvent } from "../../events/index.ts";
import { type Channel, writingBy } from "../output/index.ts";
import { TurnScreen } from "./turn-screen.ts";

export class ReplyCopy {
  readonly #data: Channel;
  readonly #turn: TurnScreen;
  #kept = "";

  constructor(data: Channel) {
    this.#data = data;
    const keeping = async (text: string): Promise<void> => {
      this.#kept += text;
    };
    const nowhere = writingBy(data, async () => {});
    this.#turn = new TurnScreen({
      data: data.isPipe ? writingBy(data, keeping) : data,
      progress: nowhere,
    });
  }

  async show(event: SessionEvent): Promise<void> {
    await this.#turn.show(event);
  }

  /** The chat has left the screen. */
  async close(): Promise<void> {
    await this.#turn.endLine();
    if (this.#kept !== "") await this.#data.write(this.#kept);
    this.#kept = "";
  }
}
