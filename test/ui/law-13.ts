/** Law 13 for the events of a session: what a page reads from the chunks of each turn is what the fold has. */

import { expect } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import {
  encodeEvent,
  initialEncoder,
  readUIMessages,
  uiMessages,
  type SessionChunk,
  type SessionMessage,
} from "../../src/ui/index.ts";
import { streamedMessages } from "./streamed-message.ts";

const options = { session: "s" };

interface StreamedTurn {
  readonly id: string;
  readonly chunks: SessionChunk[];
  /** After so many chunks, the messages of the fold. */
  readonly folded: Map<number, () => SessionMessage | undefined>;
}

/** The chunks of each turn, and what the fold has after each event of it. */
function streamedTurns(events: readonly SessionEvent[]): readonly StreamedTurn[] {
  const { initial, fold } = uiMessages(options);
  const turns: StreamedTurn[] = [];
  let [encoder, state] = [initialEncoder, initial];
  for (const event of events) {
    const encoded = encodeEvent(encoder, event, options);
    encoder = encoded.state;
    state = fold(state, event);
    for (const chunk of encoded.chunks) {
      if (chunk.type === "start")
        turns.push({ id: chunk.messageId ?? "", chunks: [], folded: new Map() });
      turns.at(-1)?.chunks.push(chunk);
    }
    const turn = turns.at(-1);
    const now = state;
    turn?.folded.set(
      turn.chunks.length,
      () => readUIMessages(now).messages.find(({ message }) => message.id === turn.id)?.message,
    );
  }
  return turns;
}

const isDelta = ({ type }: SessionChunk): boolean => type.endsWith("-delta");

/** Every prefix that ends at a structural event, and at most twenty within each run of deltas. */
function chosenPrefixes({ chunks, folded }: StreamedTurn): ReadonlySet<number> {
  const chosen = new Set<number>();
  let run = 0;
  for (const prefix of folded.keys()) {
    const last = chunks[prefix - 1];
    run = last !== undefined && isDelta(last) ? run + 1 : 0;
    if (prefix > 0 && (run <= 10 || (run % 37 === 0 && run <= 370))) chosen.add(prefix);
  }
  return chosen;
}

/** Compares each turn at its chosen prefixes. Returns how many were compared. */
export async function expectLaw(events: readonly SessionEvent[]): Promise<number> {
  let compared = 0;
  for (const turn of streamedTurns(events)) {
    const prefixes = chosenPrefixes(turn);
    const streamed = await streamedMessages(turn.chunks, prefixes);
    for (const prefix of prefixes) {
      compared++;
      const folded = turn.folded.get(prefix)?.();
      expect({ prefix, message: asJson(streamed.get(prefix)) }).toEqual({
        prefix,
        message: asJson(folded),
      });
    }
  }
  return compared;
}

function asJson(value: unknown): unknown {
  return value === undefined ? undefined : JSON.parse(JSON.stringify(value));
}
