/** Law 13: the message that a page reads from the chunks of a turn equals the one of `uiMessages`. */

import fc from "fast-check";
import { describe, expect, it, vi } from "vitest";
import type { SessionEvent } from "../../src/events/index.ts";
import {
  encodeEvent,
  initialEncoder,
  readUIMessages,
  uiMessages,
  type SessionChunk,
  type SessionMessage,
} from "../../src/ui/index.ts";
import { Choices } from "../laws/choices.ts";
import { ImaginedSession } from "../laws/imagined-session.ts";
import { fixtureNames, readFixture } from "../laws/session-fixture.ts";
import { patience, runs } from "../support/runs.ts";
import { streamedMessages } from "./streamed-message.ts";

vi.setConfig({ testTimeout: patience });

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

async function expectLaw(events: readonly SessionEvent[]): Promise<number> {
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

describe("the chunks of a session's turns", () => {
  it.each(fixtureNames)(
    "make the messages of the fold, for the recorded session %s",
    async (name) => {
      expect(await expectLaw(await readFixture(name))).toBeGreaterThan(5);
    },
  );

  it("make the messages of the fold, whatever a session records", async () => {
    const imagined = fc
      .array(fc.nat({ max: 2 ** 16 }), { maxLength: 600, size: "max" })
      .map((numbers) => new ImaginedSession(new Choices(numbers)).live());
    await fc.assert(
      fc.asyncProperty(imagined, async (events) => {
        await expectLaw(events);
      }),
      { ...runs(60), endOnFailure: true },
    );
  });
});
