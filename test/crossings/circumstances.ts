/** What a session is doing when an act comes, and where it is: any of the first with any of the second. */

import type { CompactionStrategy } from "../../src/public/index.ts";
import type { Scene } from "./scene.ts";
import { newest, type StageOptions, type Trouble } from "./stage.ts";

export interface Running {
  readonly name: string;
  readonly options?: StageOptions;
  readonly prepare: (scene: Scene) => Promise<void>;
}

export interface Place {
  readonly name: string;
  readonly options?: StageOptions;
  /** Before the running thing begins. */
  readonly before?: (scene: Scene) => Promise<void>;
  /** Once it runs. */
  readonly after?: (scene: Scene) => Promise<void>;
  /** What a dead process had is left in this one. */
  readonly kills?: true;
  /** What an act may be told while this lasts. */
  readonly fails?: readonly string[];
}

/** Compacts with a summary that a model writes. */
function written(word: string): CompactionStrategy {
  return {
    ...newest,
    writer: {
      request: (_rung, history, view) => {
        const covers = newest.plan(history, view)?.covers;
        if (covers === undefined) return undefined;
        return {
          covers,
          instructions: "Summarize.",
          prompt: `«${word}»`,
          tokens: 10,
          maxTokens: 100,
          read: () => ({ summary: "Earlier messages, as a model tells them." }),
        };
      },
    },
  };
}

/** Two turns that have ended, one of them with a call that was approved. */
export async function past(scene: Scene): Promise<void> {
  await (
    await scene.send("say")
  ).result;
  const turn = await scene.send("ask");
  await turn.untilRest();
  const { approvals } = await scene.session.view();
  for (const approval of approvals)
    if (approval.status === "waiting") await scene.approve(scene.session, approval);
  await turn.result;
}

const holding =
  (plan: Parameters<Scene["send"]>[0]) =>
  async (scene: Scene): Promise<void> => {
    await scene.send(plan);
    await scene.stage.hold(scene.word).reached;
  };

const resting =
  (plan: Parameters<Scene["send"]>[0], task?: Parameters<Scene["send"]>[0]) =>
  async (scene: Scene): Promise<void> => {
    await scene.send(plan, {}, task);
    await scene.untilRest();
    await scene.calm();
  };

export const runnings: readonly Running[] = [
  { name: "at rest", prepare: async () => {} },
  {
    name: "its last turns began from the queue",
    prepare: async (scene) => {
      await holding("stream")(scene);
      const first = scene.word;
      await scene.send("say");
      const second = await scene.session.turn(scene.word);
      scene.stage.hold(first).open();
      await second.result;
    },
  },
  { name: "streaming", prepare: holding("stream") },
  {
    name: "a tool runs",
    prepare: async (scene) => {
      await scene.send("work");
      await scene.until("the tool runs", ({ toolCalls }) => toolCalls.open.length > 0);
      await scene.calm();
    },
  },
  { name: "an approval waits", prepare: resting("ask") },
  { name: "one call id twice, and an approval waits", prepare: resting("askTwice") },
  {
    name: "one call id twice, and tools run",
    prepare: async (scene) => {
      await scene.send("workTwice");
      await scene.calm();
    },
  },
  { name: "a tool asked a person", prepare: resting("question") },
  { name: "a client tool waits", prepare: resting("client") },
  {
    name: "messages queued",
    prepare: async (scene) => {
      await holding("stream")(scene);
      await scene.send("say");
      await scene.send("say");
    },
  },
  {
    name: "a message for later",
    prepare: async (scene) => {
      await scene.send("say", { notBefore: new Date(scene.stage.time.clock() + 60_000) });
    },
  },
  {
    name: "compacting",
    prepare: async (scene) => {
      await (
        await scene.send("say")
      ).result;
      const word = `${scene.id}-summary`;
      scene.stage.plan(word, "stream");
      scene.answeredLater(scene.session.compact(written(word)));
      await scene.stage.hold(word).reached;
    },
  },
  {
    name: "retrying",
    prepare: async (scene) => {
      await scene.send("retry");
      await scene.until("it waits to try again", ({ machine }) =>
        machine.matches({ streaming: "backingOff" }),
      );
    },
  },
  {
    name: "a sub-agent runs",
    prepare: async (scene) => {
      await scene.send("delegate", {}, "stream");
      await scene.stage.hold(`${scene.word}-task`).reached;
    },
  },
  {
    name: "a sub-agent waits for approval",
    prepare: async (scene) => {
      await scene.send("delegate", {}, "ask");
      await scene.until("a child", ({ toolCalls }) =>
        toolCalls.open.some(({ child }) => child !== undefined),
      );
      await scene.calm();
    },
  },
  { name: "a consumer behind", prepare: async (scene) => await scene.consume() },
  { name: "its history was refused", prepare: holding("refuse") },
  {
    name: "held by a limit of spending",
    options: { budget: 20_000 },
    prepare: resting("spend"),
  },
  { name: "another model took over", prepare: holding("failOver") },
  { name: "another model took over, and an approval waits", prepare: resting("failOverAsking") },
];

/** The session is a fork, whose origin is then changed. */
const fork =
  (change: (scene: Scene) => Promise<unknown>): NonNullable<Place["before"]> =>
  async (scene) => {
    const origin = scene.session;
    scene.session = await origin.fork({ id: `${origin.id}-fork` });
    await change(scene);
  };

const restart =
  (end: (scene: Scene) => Promise<void>) =>
  async (scene: Scene): Promise<void> => {
    await end(scene);
    scene.forgetAsked();
    await scene.stage.start();
    scene.runtime = scene.stage.runtime;
    scene.session = await scene.runtime.session(scene.session.id);
    if (scene.consumer !== undefined) await scene.consume();
    await scene.calm();
  };

const killed = restart(async ({ stage }) => stage.kill());

/** The trouble begins, then all that waited continues, and time passes. */
const trouble =
  (kind: Trouble): NonNullable<Place["after"]> =>
  async (scene) => {
    const { stage } = scene;
    stage.fail(kind);
    stage.release();
    for (let minute = 0; minute < 10; minute++) {
      await stage.time.pass(60_000);
      await scene.calm();
    }
  };

const outage = ["SESSION_FAILED", "LOG_FULL", "LOG_FAILED"] as const;

/** Where a session is that does nothing else. */
export const places: readonly Place[] = [
  {
    name: "after a rewind",
    before: async ({ session }) => {
      await session.rewind({ beforeTurn: 2 });
    },
  },
  { name: "in a fork", before: fork(async () => {}) },
  {
    name: "in a fork of a redacted origin",
    options: { encrypted: true },
    before: fork(async ({ runtime, id, stage }) => {
      const events = await Array.fromAsync(stage.log.read(id));
      const [first] = events.filter(({ type }) => type === "message.queued");
      await runtime.redact(id, [first?.position ?? 0]);
    }),
  },
  {
    name: "in a fork of a deleted origin",
    before: fork(async ({ runtime, id }) => await runtime.delete(id, { forks: "copy" })),
  },
  {
    name: "in a fork of a rewound origin",
    before: fork(async ({ runtime, id }) => (await runtime.session(id)).rewind({ beforeTurn: 2 })),
  },
  {
    name: "in a fork of a configured origin",
    before: fork(async ({ runtime, id }) =>
      (await runtime.session(id)).configure({ instructions: "Be brief." }),
    ),
  },
  { name: "encrypted", options: { encrypted: true } },
];

/** What happens beside each running thing. */
export const happenings: readonly Place[] = [
  { name: "after a kill, to be continued", kills: true, after: killed },
  {
    name: "after a kill, to be stopped",
    kills: true,
    options: { recovery: "stop" },
    after: killed,
  },
  { name: "while the disk is full", after: trouble("full"), fails: outage },
  { name: "while the database is away", after: trouble("away"), fails: outage },
  {
    name: "passivated",
    options: { idleAfterMs: 1 },
    after: async (scene) => await scene.calm(),
  },
  {
    name: "run by another process",
    options: { shared: true },
    after: async (scene) => {
      scene.runtime = await scene.stage.other();
      scene.session = await scene.runtime.session(scene.session.id);
    },
  },
];

export const here: Place = { name: "here" };
