// What a provider is sent after a rewind, over HTTP: nothing refers to a left branch. No id of a reasoning item, no
// signature and no part that only its provider takes is in a request unless the active branch has it.
import { expect, it } from "vitest";
import { createRuntime, memoryBlobs, type Session, type Turn } from "../../src/public/index.ts";
import { someOfEach } from "../support/runs.ts";
import { describeWithCorpus } from "./corpus-suite.ts";
import { wireModel } from "./wire-model.ts";
import { serveWire } from "./wire-server.ts";
import { wireRows, type WireRow } from "./wire-manifest.ts";

const [first, next] = ["Please go on.", "And then?"];

interface Played {
  readonly session: Session;
  /** The bodies of the requests that it makes meanwhile. */
  readonly asked: (act: () => Promise<unknown>) => Promise<readonly unknown[]>;
}

/** Plays on a session whose first request is answered by the recorded stream, all later ones shortly. */
async function play<Found>(row: WireRow, act: (played: Played) => Promise<Found>): Promise<Found> {
  await using server = await serveWire(row, { seed: 3 });
  const { model, tools } = wireModel(row, server.url);
  await using runtime = await createRuntime({
    memory: true,
    blobs: { store: memoryBlobs() },
    agent: {
      model,
      tools,
      maxSteps: 3,
      maxRetries: 0,
      promptCache: "off",
      context: { cut: { reader: false } },
    },
  });
  const session = await runtime.session("s");
  return await act({
    session,
    asked: async (command) => {
      const before = server.requests.length;
      await command();
      return server.requests.slice(before).map(({ body }) => body);
    },
  });
}

/** A turn whose reply cannot be read has its request all the same. */
async function over({ result }: Turn): Promise<void> {
  await result.catch(() => {});
}

async function say(session: Session, text: string): Promise<void> {
  await over(await session.send(text));
}

describeWithCorpus("the request of a rewound session", () => {
  const rows = wireRows(undefined, ["ok"]);
  /** Whether a provider gives ids, signatures or parts that only itself takes back. */
  const isBound = ({ features }: WireRow): boolean =>
    features.some((feature) => /itemId|reason|signature|encrypt|provider/i.test(feature));
  const kindOf = (row: WireRow): string => `${row.family} ${String(isBound(row))}`;
  for (const row of someOfEach(rows, kindOf)) {
    it(`is that of a session without the branch that was left: ${row.family} ${row.file}`, async () => {
      const straight = await play(row, async ({ session, asked }) => {
        const opening = await asked(() => say(session, first));
        return { opening: opening[0], next: (await asked(() => say(session, next)))[0] };
      });
      await play(row, async ({ session, asked }) => {
        const opening = await asked(() => say(session, first));
        expect(opening[0]).toEqual(straight.opening);
        const { branch } = await session.rewind({ beforeTurn: 1 });
        const without = await asked(() => say(session, first));
        // As if nothing had been said: the same first request.
        expect(without[0]).toEqual(straight.opening);
        const again = await asked(async () => over(await session.regenerate()));
        expect(again[0]).toEqual(straight.opening);
        await session.checkout(1);
        // As if nothing had been left.
        expect((await asked(() => say(session, next)))[0]).toEqual(straight.next);
        await session.checkout(branch);
        expect(JSON.stringify((await session.view()).prompt.messages)).not.toContain(next);
      });
    });
  }
});
