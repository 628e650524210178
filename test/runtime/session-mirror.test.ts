import { expect, it } from "vitest";
import { waitFor } from "xstate";
import { createRuntime, mirrorSession } from "../../src/public/index.ts";
import { gate, scriptedModel } from "../../src/models/index.ts";

it("shows a session to an actor system as one of its actors: commands in, machine states out", async () => {
  const hold = gate();
  const model = scriptedModel([
    { parts: [{ type: "text", deltas: ["One ", hold, "moment."] }] },
    "Done.",
  ]);
  await using runtime = await createRuntime({ memory: true, agent: { model } });
  const session = await runtime.session("mirrored");
  const errors: unknown[] = [];
  const stop = new AbortController();
  const inspected: string[] = [];
  const actor = mirrorSession(session, {
    signal: stop.signal,
    onError: (error) => errors.push(error),
    inspect: ({ type }) => inspected.push(type),
  });

  actor.send({ type: "send", args: ["Wait for me"] });
  await waitFor(actor, (snapshot) => snapshot.matches({ streaming: "calling" }));
  const waiting = await session.send("Later", { id: "later" });
  expect(waiting.queued).toBe(true);
  actor.send({ type: "reschedule", args: ["later", "steer"] });
  await waitFor(actor, ({ context }) => context.queue[0]?.delivery === "steer");
  actor.send({ type: "withdraw", args: ["later"] });
  await waitFor(actor, ({ context }) => context.queue.length === 0);
  actor.send({ type: "cancel", args: [] });
  const idle = await waitFor(actor, (snapshot) => snapshot.matches({ idle: "waiting" }));
  expect(idle.context).toMatchObject({ turn: 1, step: 1 });
  expect(idle.context).toEqual((await session.view()).state.context);

  actor.send({ type: "approve", args: ["nobody"] });
  await expect.poll(() => errors).toMatchObject([{ code: "COMMAND_REFUSED", session: "mirrored" }]);
  expect(inspected).toContain("@xstate.snapshot");

  const ended = new Promise<void>((complete) => actor.subscribe({ complete }));
  stop.abort();
  await ended;
});
