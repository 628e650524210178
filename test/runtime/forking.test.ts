/** Forks of live sessions: what the two share, and where they can branch off. */

import { describe, expect, it } from "vitest";
import { stateAt as stateIn } from "../../src/state/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { partsOf } from "../laws/session-digests.ts";
import { ask, typesBehind } from "../support/asking.ts";
import { lawProblems } from "../support/law-problems.ts";
import { watchLiveStates } from "../support/live-states.ts";
import { replayLog, stateAt, storedEvents } from "../support/replay.ts";
import { saying } from "../support/script.ts";
import { openSession, reopen } from "../support/with-runtime.ts";

describe("a fork at the end", () => {
  it("shares what was said, and each of the two continues without the other", async () => {
    const model = scriptedModel(["One.", "Two here.", "Two there."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    const { position } = await open.session.view();
    const fork = await open.session.fork({ id: "f" });
    expect(fork.id).toBe("f");
    expect(await ask(open.session, "Here?")).toBe("Two here.");
    expect(await ask(fork, "There?")).toBe("Two there.");
    const prompts = model.calls.map(({ prompt }) => JSON.stringify(prompt));
    expect(prompts[2]).toContain("First?");
    expect(prompts[2]).toContain("One.");
    expect(prompts[2]).not.toContain("Here?");
    expect(prompts[1]).not.toContain("There?");
    expect((await storedEvents(open.log, "f")).slice(0, position)).toEqual(
      (await open.events()).slice(0, position),
    );
    const [forked] = await typesBehind(open, "f", position);
    expect(forked).toBe("session.forked");
    expect((await fork.view()).summary).toMatchObject({
      forkedFrom: { session: "s", position },
      turns: 2,
    });
    expect(lawProblems(await storedEvents(open.log, "f"))).toEqual([]);
  });

  it("holds live, at each own position, the state that a fold of its log gives", async () => {
    using watched = watchLiveStates();
    const model = scriptedModel(["One.", saying("a", "b", "c"), "Three."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    const fork = await open.session.fork({ id: "f" });
    await ask(fork, "Second?");
    const again = await fork.fork({ id: "g" });
    await ask(again, "Third?");
    for (const session of ["f", "g"]) {
      const folded = await replayLog(open.log, session);
      const live = watched.seen(session);
      expect(live.length).toBeGreaterThan(5);
      for (const state of live) {
        expect(partsOf(state)).toStrictEqual(partsOf(stateAt(folded, state.position)));
      }
      // From a snapshot of either session, or without one.
      for (const { position } of folded.events) {
        const read = await stateIn(open.log, session, position);
        expect(partsOf(read)).toStrictEqual(partsOf(stateAt(folded, position)));
      }
    }
  });

  it("of a session that is closed continues from before that", async () => {
    const model = scriptedModel(["One.", "Two."]);
    await using open = await openSession({ model });
    await ask(open.session, "First?");
    await open.session.close();
    const { position } = await open.session.view();
    await expect(open.session.fork({ position: position })).rejects.toMatchObject({
      code: "INVALID_INPUT",
      position,
    });
    expect(await ask(await open.session.fork(), "Second?")).toBe("Two.");
  });

  it("is refused under a name that is taken, and at a position that does not exist", async () => {
    await using open = await openSession({ model: scriptedModel([]) });
    await expect(open.session.fork({ id: "s" })).rejects.toMatchObject({
      code: "REVISION_CONFLICT",
      session: "s",
    });
    for (const at of [0, 2, 1.5])
      await expect(open.session.fork({ position: at })).rejects.toMatchObject({
        code: "INVALID_INPUT",
      });
    expect((await Array.fromAsync(open.log.list())).map(({ session }) => session)).toEqual(["s"]);
  });

  it("is listed with where it branched off, and is the same after a restart", async () => {
    await using first = await openSession({ model: scriptedModel(["One."]) });
    await ask(first.session, "First?");
    const fork = await first.session.fork({ id: "f" });
    const before = await fork.view();
    await using second = await reopen(first, { model: scriptedModel(["Two."]) });
    const again = await second.runtime.session("f");
    expect((await again.view()).position).toBe(before.position);
    const listed = await Array.fromAsync(second.runtime.sessions());
    expect(listed.map(({ session, title, forkedFrom }) => [session, title, forkedFrom])).toEqual([
      ["f", "First?", { session: "s", position: before.position - 1 }],
      ["s", "First?", undefined],
    ]);
    expect(await ask(again, "Second?")).toBe("Two.");
  });

  it("within what a fork shares is a fork of the session that wrote it", async () => {
    await using open = await openSession({ model: scriptedModel(["One.", "Two."]) });
    await ask(open.session, "First?");
    const fork = await open.session.fork({ id: "f" });
    await ask(fork, "Second?");
    const inner = await fork.fork({ id: "g", position: 3 });
    expect((await inner.view()).summary.forkedFrom).toEqual({ session: "s", position: 3 });
  });
});
