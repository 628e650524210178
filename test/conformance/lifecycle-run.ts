/** Runs an agent with all lifecycle callbacks through `ToolLoopAgent` and through turnlog, and keeps what they hear. */

import { ToolLoopAgent, type ModelMessage, type ToolLoopAgentSettings, type ToolSet } from "ai";
import { scriptedModel, type Script } from "../../src/models/index.ts";
import { createRuntime, type Agent, type RuntimeOptions } from "../../src/public/index.ts";

export type StepSourceName = NonNullable<RuntimeOptions["stepSource"]>;

const names = [
  "onStart",
  "onStepStart",
  "onLanguageModelCallStart",
  "onLanguageModelCallEnd",
  "onToolExecutionStart",
  "onToolExecutionEnd",
  "onStepEnd",
  "onStepError",
  "onAbort",
  "onEnd",
  "onError",
] as const;
type Name = (typeof names)[number];

/** A callback's name with its event. */
export type Heard = readonly [name: Name, event: unknown];

export interface LifecycleCase {
  readonly script: Script;
  readonly settings?: Omit<Agent, "model">;
  /** Stops the run when this callback is called. */
  readonly stopAt?: Name;
  /** What the callbacks do besides; they hear the event first. */
  readonly act?: (name: Name) => unknown;
}

export async function heardBySdk(one: LifecycleCase): Promise<readonly Heard[]> {
  const heard: Heard[] = [];
  const stop = new AbortController();
  const settings: unknown = {
    ...one.settings,
    ...listeners(one, heard, () => {
      stop.abort();
    }),
    model: scriptedModel(one.script),
  };
  // The cases have only settings of both.
  const agent = new ToolLoopAgent(settings as ToolLoopAgentSettings<never, ToolSet>);
  const messages: ModelMessage[] = [{ role: "user", content: "Go." }];
  const { stream } = await agent.stream({ messages, abortSignal: stop.signal });
  try {
    for await (const _ of stream);
  } catch {
    // The callbacks hear of it.
  }
  return heard;
}

export async function heardByTurnlog(
  one: LifecycleCase,
  stepSource: StepSourceName,
): Promise<readonly Heard[]> {
  const heard: Heard[] = [];
  const agent: Agent = {
    ...one.settings,
    // Without turnlog's own tool.
    context: { cut: false },
    ...listeners(one, heard, () => void session.cancel()),
    model: scriptedModel(one.script),
  };
  const runtime = await createRuntime({ memory: true, agent, stepSource, graceMs: 1 });
  const session = await runtime.session("s");
  const turn = await session.send("Go.");
  await turn.untilRest().catch(() => {});
  await runtime.close();
  return heard;
}

function listeners(
  { act = () => {}, stopAt }: LifecycleCase,
  heard: Heard[],
  stop: () => void,
): Partial<Agent> {
  return Object.fromEntries(
    names.map((name) => [
      name,
      async (event: unknown) => {
        heard.push([name, event]);
        if (name === stopAt) stop();
        await act(name);
      },
    ]),
  );
}
