/** Law 1 after a kill: what was shown, accepted, done or sent is in the log that is left. */

import { experimental_streamLanguageModelCall as streamLanguageModelCall } from "ai";
import { withCallIds } from "../support/call-ids.ts";
import { sentPrompt } from "../../src/projections/index.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { callRecords } from "../support/call-problems.ts";
import { outputProblems } from "../support/output-problems.ts";
import { stateAt, type Replay } from "../support/replay.ts";
import { repetitions, type Work } from "../support/workshop.ts";
import { crashAgent, sentDigest, wordsIn } from "./crash-agent.ts";
import type { Told } from "./crash-plan.ts";

/** What was told to users and seen in the world up to the kill. */
export interface Witnessed {
  readonly told: readonly Told[];
  /** What tools did, by all processes of the store so far. */
  readonly works: readonly Work[];
  /** Digests of the prompts with which the model was called, by all processes so far. */
  readonly calls: readonly string[];
}

export async function shownProblems(log: Replay, witnessed: Witnessed): Promise<readonly string[]> {
  return [
    ...toldProblems(log, witnessed.told),
    ...workProblems(log, witnessed.works),
    ...(await callProblems(log, witnessed.calls)),
    ...wrongOutputs(log),
  ];
}

/** The output of each turn is read from its last reply, by whichever process ended it. */
export function wrongOutputs({ events }: Replay): readonly string[] {
  return outputProblems(events, ({ reason, output }, text) => {
    const wanted = reason === "stop" ? { value: { words: wordsIn(text) } } : undefined;
    return JSON.stringify(output) === JSON.stringify(wanted);
  });
}

function toldProblems({ events }: Replay, told: readonly Told[]): readonly string[] {
  const stored = new Map(events.map((event) => [event.position, JSON.stringify(event)]));
  const ids = (type: "message.queued" | "message.withdrawn"): ReadonlySet<string> =>
    new Set(
      events.flatMap((event) => {
        if (event.type !== type) return [];
        return event.type === "message.queued" ? [event.data.id] : event.data.ids;
      }),
    );
  const answered = new Set(
    events.flatMap(({ type, data }) =>
      type === "tool.succeeded" ? [`${data.step}/${data.callId}`] : [],
    ),
  );
  const [accepted, withdrawn] = [ids("message.queued"), ids("message.withdrawn")];
  return told.flatMap((line) => {
    switch (line.told) {
      case "shown": {
        const { position } = line.event;
        return stored.get(position) === JSON.stringify(line.event)
          ? []
          : [
              `event ${position} was shown, and the log has ${stored.get(position) ?? "nothing"} there`,
            ];
      }
      case "accepted":
        return accepted.has(line.id)
          ? []
          : [`message ${line.id} was accepted and is not in the log`];
      case "answered":
        return answered.has(`${line.step}/${line.callId}`)
          ? []
          : [`call ${line.callId} of step ${line.step} was answered, the log does not know`];
      case "noted":
        return stored.get(line.position)?.includes('"app.noted"') === true
          ? []
          : [`an event was appended at ${line.position}, the log does not have it`];
      case "withdrawn":
        return withdrawn.has(line.id)
          ? []
          : [`message ${line.id} was withdrawn, the log does not know`];
      case "ended":
        return [];
    }
  });
}

function workProblems({ events }: Replay, works: readonly Work[]): readonly string[] {
  const records = callRecords(events);
  const unannounced = works.flatMap(({ key, toolName }) => {
    const started = records.filter(
      ({ call, started }) =>
        JSON.stringify(call.data.input) === JSON.stringify({ key }) && started.length > 0,
    );
    return started.length === 1
      ? []
      : [`${toolName} did ${key}, and the log has ${started.length} announcements of it`];
  });
  return [...unannounced, ...repetitions(works)];
}

/** Each prompt that was sent is one that a `step.started` announces, in the same order. */
async function callProblems(log: Replay, calls: readonly string[]): Promise<readonly string[]> {
  const announced: string[] = [];
  for (const event of log.events) {
    if (event.type === "step.started") announced.push(await announcedDigest(log, event.position));
  }
  let next = 0;
  return calls.flatMap((call, index) => {
    const at = announced.indexOf(call, next);
    if (at === -1) return [`model call ${index + 1} sent a prompt that no step announces`];
    next = at + 1;
    return [];
  });
}

/** The digest of the prompt as the SDK hands it to a model, made from the log alone. */
async function announcedDigest(log: Replay, position: number): Promise<string> {
  const { instructions, messages } = sentPrompt(stateAt(log, position - 1));
  const { tools } = crashAgent({ works: "/dev/null" });
  const model = scriptedModel([""]);
  await streamLanguageModelCall({
    model,
    instructions: instructions.text ?? "",
    tools: tools ?? {},
    messages: [...withCallIds(messages, model)],
  });
  const [call] = model.calls;
  if (call === undefined) throw new Error("The model was not called.");
  return sentDigest(call.prompt);
}
