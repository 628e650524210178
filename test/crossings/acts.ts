/** All that can be done to a session, each as one act. A method of a session without an act does not compile. */

import { z } from "zod";
import { uiStream, type SessionView } from "../../src/public/index.ts";
import { defineProjection, type Projection } from "../../src/projections/index.ts";
import type { ApprovalAnswer } from "../../src/commands/index.ts";
import type { Scene } from "./scene.ts";
import type { StageRuntime, StageSession } from "./stage.ts";
import type { Approval } from "../../src/state/index.ts";

export interface Act extends ActOptions {
  /** In the table: "send, steering". */
  readonly name: string;
  readonly run: Run;
}

type Run = (scene: Scene) => Promise<unknown>;

interface ActOptions {
  /** Why it makes no sense there; undefined if it does. */
  readonly impossible?: (scene: Scene) => string | undefined;
  /** Needs a session whose content has keys. */
  readonly encrypted?: true;
  /** Needs idle sessions to be passivated. */
  readonly passivates?: true;
  /** The session takes no message afterwards. */
  readonly ends?: "SESSION_CLOSED" | "SESSION_DELETED";
}

function act(name: string, run: Run, options: ActOptions = {}): Act {
  return { name, run, ...options };
}

interface Sent {
  readonly id: string;
  readonly turn: number;
}

/** The messages that turns of the active branch began with. */
function sent({ history }: SessionView): readonly Sent[] {
  return history.flatMap((item) =>
    item.kind === "user" ? [{ id: item.id, turn: item.turn }] : [],
  );
}

const ifWaiting: ActOptions = {
  impossible: ({ view }) => (view.queue.length === 0 ? "No message waits." : undefined),
};
const ifSent: ActOptions = {
  impossible: ({ view }) =>
    sent(view).length === 0 ? "No message of the active branch was delivered." : undefined,
};
const ifAsked: ActOptions = {
  impossible: ({ view }) =>
    view.approvals.length === 0 ? "Nobody was asked for an approval." : undefined,
};
const ifRequested: ActOptions = {
  impossible: ({ view }) =>
    view.outputRequests.length === 0 ? "No client was asked for an output." : undefined,
};

function firstWaiting({ view }: Scene): string {
  return view.queue[0]?.id ?? "";
}

function lastSent({ view }: Scene): Sent {
  return sent(view).at(-1) ?? { id: "", turn: 0 };
}

function inAnHour({ stage }: Scene): { readonly notBefore: Date } {
  return { notBefore: new Date(stage.time.clock() + 3_600_000) };
}

/** The approval that waits, or else the last one that was answered. */
function approvalOf({ view: { approvals } }: Pick<Scene, "view">): Approval | undefined {
  return approvals.find(({ status }) => status === "waiting") ?? approvals.at(-1);
}

const approving =
  (answer: ApprovalAnswer): Run =>
  async (scene) => {
    const approval = approvalOf(scene);
    if (approval !== undefined) await scene.approve(scene.session, approval, answer);
  };

const answering =
  (answer: Parameters<StageSession["answerCall"]>[1]): Run =>
  ({ session, view }) =>
    session.answerCall(view.outputRequests[0]?.requestId ?? "", answer);

async function sendAgain({ session, view }: Scene): Promise<void> {
  const message = view.history.findLast(({ kind }) => kind === "user");
  if (message?.kind !== "user" || typeof message.content !== "string") return;
  await session.send(message.content, { id: message.id });
}

/** Goes back before the turn of the last message by an act: all turns before it stay, and it is gone. */
async function leaving(
  scene: Scene,
  act: (last: Sent) => Promise<unknown>,
  isGone = true,
): Promise<void> {
  const last = lastSent(scene);
  const kept = sent(scene.view).flatMap(({ id, turn }) => (turn < last.turn ? [id] : []));
  await act(last);
  const now = sent(await scene.session.view()).map(({ id }) => id);
  if (now.slice(0, kept.length).join() !== kept.join())
    scene.problems.push(`of the turns of ${kept.join()}, those of ${now.join()} are left`);
  if (isGone && now.includes(last.id)) scene.problems.push(`the turn of ${last.id} is still there`);
}

const goingBack =
  (place: (last: Sent) => Parameters<StageSession["rewind"]>[0]): Run =>
  (scene) =>
    leaving(scene, (last) => scene.session.rewind(place(last)));

const edit: Run = (scene) => leaving(scene, ({ id }) => scene.send("say", { replaces: id }));

const regenerate: Run = (scene) => leaving(scene, () => scene.session.regenerate(), false);

async function redact({ session, stage, view }: Scene): Promise<void> {
  const [first] = sent(view);
  const events = await Array.fromAsync(stage.log.read(session.id));
  const queued = events.find((one) => one.type === "message.queued" && one.data.id === first?.id);
  await session.redact(queued?.position ?? 1);
}

/** A turn that waited for people continues waiting in the next process, as after a kill. */
async function closeRuntime(scene: Scene): Promise<void> {
  const { stage, view } = scene;
  const waits = await scene.waitsForPeople();
  await stage.close();
  scene.consumer = undefined;
  await stage.start();
  scene.runtime = stage.runtime;
  scene.session = await scene.runtime.session(scene.session.id);
  const { turn } = view.state.context;
  const { history } = await scene.session.view();
  const end = history.find((item) => item.kind === "turn-end" && item.turn === turn);
  if (waits && end?.kind === "turn-end")
    scene.problems.push(`turn ${turn}, which waited for people, ended: ${end.reason}`);
}

async function reading(items: AsyncIterable<unknown>, most: number): Promise<void> {
  let seen = 0;
  for await (const _ of items) if (++seen >= most) return;
}

const turns: Projection<{ readonly ended: number }> = defineProjection({
  name: "crossings.turns",
  version: 1,
  follows: "branch",
  schema: z.object({ ended: z.number() }),
  initial: { ended: 0 },
  on: { "turn.ended": ({ ended }) => ({ ended: ended + 1 }) },
});

type Acts<Name extends PropertyKey> = Readonly<Record<Name, readonly Act[]>>;

const sessionActs: Acts<Exclude<keyof StageSession, "id">> = {
  send: [
    act("send", (scene) => scene.send("say")),
    act("send, steering", (scene) => scene.send("say", { delivery: "steer" })),
    act("send for later", (scene) => scene.send("say", inAnHour(scene))),
    act("send again under the same id", sendAgain, ifSent),
    act("edit the last message", edit, ifSent),
  ],
  turn: [
    act(
      "turn",
      async (scene) => {
        const turn = await scene.session.turn(lastSent(scene).id);
        scene.answeredLater(turn.result);
      },
      ifSent,
    ),
  ],
  cancel: [
    act("cancel", ({ session }) => session.cancel()),
    act("cancel after tools", ({ session }) => session.cancel({ mode: "after-tools" })),
    act("cancel and withdraw", ({ session }) => session.cancel({ withdraw: true })),
  ],
  approve: [
    act("approve", approving({}), ifAsked),
    act("approve always", approving({ always: true }), ifAsked),
  ],
  deny: [act("deny", (scene) => scene.session.deny(approvalOf(scene)?.approvalId ?? ""), ifAsked)],
  answerCall: [
    act("answer a call", answering({ output: "Answered." }), ifRequested),
    act("answer a call by an error", answering({ error: "No." }), ifRequested),
  ],
  allow: [
    act("allow more", ({ session }) => session.allow({ tokens: 1_000_000 }), {
      impossible: ({ view }) =>
        view.budget === undefined ? "No limit of spending holds its turn." : undefined,
    }),
  ],
  forgetApproval: [act("forget approval", ({ session }) => session.forgetApproval("guarded"))],
  withdraw: [act("withdraw", (scene) => scene.session.withdraw(firstWaiting(scene)), ifWaiting)],
  reschedule: [
    act(
      "reschedule to the next step",
      (scene) => scene.session.reschedule(firstWaiting(scene), "steer"),
      ifWaiting,
    ),
    act(
      "reschedule for later",
      (scene) => scene.session.reschedule(firstWaiting(scene), inAnHour(scene)),
      ifWaiting,
    ),
  ],
  resume: [act("resume", ({ session }) => session.resume())],
  compact: [act("compact", ({ session }) => session.compact())],
  restore: [act("restore", ({ session }) => session.restore())],
  rewind: [
    act(
      "rewind before the last message",
      goingBack(({ id }) => ({ beforeMessage: id })),
      ifSent,
    ),
    act(
      "rewind before the last turn, and tell",
      goingBack(({ turn }) => ({ beforeTurn: turn, tell: true })),
      ifSent,
    ),
  ],
  checkout: [
    act("checkout", async ({ session }) => {
      const branches = await session.branches();
      const other = branches.find(({ active }) => !active) ?? branches[0];
      await session.checkout(other?.id ?? 1);
    }),
  ],
  branches: [act("branches", ({ session }) => session.branches())],
  regenerate: [
    act("regenerate the last turn", regenerate, ifSent),
    act(
      "regenerate the first turn",
      ({ session, view }) => session.regenerate({ messageId: sent(view)[0]?.id ?? "" }),
      ifSent,
    ),
  ],
  preview: [act("preview", ({ session }) => session.preview())],
  bill: [act("bill", ({ session }) => session.bill())],
  context: [act("context", ({ session }) => session.context())],
  view: [act("view", ({ session }) => session.view())],
  at: [act("at", ({ session, view }) => session.at(Math.ceil(view.position / 2)))],
  diff: [act("diff", ({ session, view }) => session.diff(1, view.position))],
  fork: [
    act("fork", async ({ session, stage }) => {
      const fork = await session.fork({ id: `${session.id}-forked` });
      await fork.send(stage.plan(`${fork.id}-m`, "say"));
    }),
  ],
  rerun: [
    act(
      "rerun the last turn",
      async (scene) => {
        const { turn } = await scene.session.rerun({ id: `${scene.session.id}-rerun` });
        scene.answeredLater(turn.result);
      },
      ifSent,
    ),
  ],
  configure: [act("configure", ({ session }) => session.configure({ instructions: "Be brief." }))],
  setTitle: [act("set the title", ({ session }) => session.setTitle("A refund"))],
  markSeen: [act("mark as seen", ({ session }) => session.markSeen({ by: "ann" }))],
  setMetadata: [act("set metadata", ({ session }) => session.setMetadata({ topic: "refund" }))],
  redact: [act("redact", redact, { ...ifSent, encrypted: true })],
  append: [act("append", ({ session }) => session.append("app.noted", { note: "Seen." }))],
  project: [act("project", ({ session }) => session.project(turns))],
  follow: [
    act("follow", async ({ session }) => {
      const left = new AbortController();
      await reading(session.follow(turns, { signal: left.signal }), 1);
      left.abort();
    }),
  ],
  events: [act("events", ({ session }) => reading(session.events(), 5))],
  subAgents: [act("sub-agents", ({ session }) => session.subAgents())],
  idle: [act("idle", ({ session }) => session.idle())],
  atRest: [act("at rest", ({ session }) => session.atRest())],
  close: [
    act("close the session", ({ session }) => session.close("done"), { ends: "SESSION_CLOSED" }),
  ],
};

/** What is done to a session from its runtime. */
const runtimeActs: Acts<
  Extract<
    keyof StageRuntime,
    "close" | "consume" | "delete" | "resumeAll" | "approvals" | "sessions"
  >
> = {
  close: [act("close the runtime, and open another", closeRuntime)],
  consume: [
    act("consume", (scene) => scene.consume(), {
      impossible: ({ consumer }) =>
        consumer === undefined ? undefined : "A consumer runs already.",
    }),
  ],
  delete: [
    act("delete", ({ runtime, session }) => runtime.delete(session.id), {
      ends: "SESSION_DELETED",
    }),
    act(
      "delete with its turn",
      ({ runtime, session }) => runtime.delete(session.id, { cancel: true }),
      { ends: "SESSION_DELETED" },
    ),
  ],
  resumeAll: [act("resume all", ({ runtime }) => runtime.resumeAll())],
  approvals: [act("approvals", ({ runtime }) => runtime.approvals())],
  sessions: [act("list", ({ runtime }) => Array.fromAsync(runtime.sessions({ limit: 9 })))],
};

/** What happens to a session without a method of its own. */
const otherActs: readonly Act[] = [
  act("passivate", (scene) => scene.calm(), {
    passivates: true,
    impossible: ({ view }) =>
      view.summary.status === "running" ? "A turn that runs is not passivated." : undefined,
  }),
  act("stream to a page", async (scene) => {
    const reader = uiStream(scene.session, { from: 1, untilRest: false }).getReader();
    const { value } = await reader.read();
    await reader.cancel();
    if (value?.type !== "start") scene.problems.push(`the stream begins with ${value?.type}`);
  }),
];

export const acts: readonly Act[] = [
  ...Object.values(sessionActs).flat(),
  ...Object.values(runtimeActs).flat(),
  ...otherActs,
];
