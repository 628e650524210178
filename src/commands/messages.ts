/** The commands about a session's messages: `send`, `withdraw`, `reschedule`, `resume`. Pure. */

import { z } from "zod";
import { defined, messageAboutSchema, type SessionEvent } from "../events/index.ts";
import { allWaiting, type QueuedMessage } from "../projections/index.ts";
import { moment, oneOf, shortName, text, thing } from "../validation/index.ts";
import {
  eventCommand,
  runtimeCommand,
  type Command,
  type Events,
  type Recording,
} from "./command.ts";
import { refusal, type CommandTarget } from "./target.ts";
import { basedOn } from "./head.ts";
import type { ScheduleOptions, SendOptions, WithdrawOptions } from "./options.ts";
import {
  by,
  options,
  required,
  requiredOptions,
  turnFieldNames,
  turnFields,
  unchecked,
} from "./parameters.ts";

const ABOUT_BYTES = 65_536;

const about = thing(
  "JSON of at most 64 KB with `metadata`, `data`, `context` or `options`",
  (value) =>
    z.json().safeParse(value).success &&
    messageAboutSchema.safeParse(value).success &&
    Buffer.byteLength(JSON.stringify(value)) <= ABOUT_BYTES,
);

const delivery = oneOf("steer", "follow-up");
const messageId = required<string>("messageId", shortName);

export const messageCommands: readonly Command[] = [
  runtimeCommand({
    name: "send",
    parameters: [
      unchecked("message", true),
      options<SendOptions>({
        fields: {
          id: shortName,
          delivery,
          notBefore: moment,
          replaces: shortName,
          basedOn,
          by,
          about,
          ...turnFields,
        },
        local: turnFieldNames,
        and: thing(
          "an object without `notBefore` if it `replaces` a message: an edit is sent immediately",
          (value) =>
            Reflect.get(Object(value), "notBefore") === undefined ||
            Reflect.get(Object(value), "replaces") === undefined,
        ),
      }),
    ],
    permission: "send",
    also: { option: "replaces", permission: "rewind" },
    route: {
      method: "post",
      path: "/queue",
      audience: "user",
      creates: true,
      summary:
        "Accepts a message, which is durable when this responds. Repeating an id means the same message.",
    },
    answer: { kind: "turn" },
    recorded: (event, next) => {
      if (event.type === "message.queued") return sent(event);
      if (event.type !== "session.rewound" || event.data.edit === undefined) return undefined;
      const { by: id, replaces } = event.data.edit;
      // The process may have died between the two.
      return next?.type === "message.queued" && next.data.id === id
        ? sent(next, { replaces })
        : () => undefined;
    },
  }),
  eventCommand({
    name: "withdraw",
    parameters: [
      messageId,
      options<WithdrawOptions>({
        name: "reasonOrOptions",
        fields: { reason: text, by },
        shorthand: "reason",
      }),
    ],
    permission: "send",
    route: {
      method: "delete",
      path: "/queue/{messageId}",
      audience: "user",
      summary: "Withdraws a waiting message.",
    },
    decide: (target, id, why) => {
      assertWaiting(target, "withdraw", id);
      return [{ type: "message.withdrawn", data: { ids: [id], ...why } }];
    },
    recorded: (event) => {
      if (event.type !== "message.withdrawn") return undefined;
      const { ids, ...why } = event.data;
      return ids.length === 1 ? () => [ids[0], why] : undefined;
    },
  }),
  eventCommand({
    name: "reschedule",
    parameters: [
      messageId,
      requiredOptions<ScheduleOptions>({
        name: "to",
        fields: { delivery, notBefore: moment },
        shorthand: "delivery",
      }),
    ],
    permission: "send",
    route: {
      method: "post",
      path: "/queue/{messageId}",
      audience: "user",
      summary: "Changes when a waiting message is delivered.",
    },
    // No event if the message has that delivery and time already.
    decide: (target, id, to) => {
      const message = assertWaiting(target, "reschedule", id);
      const delivered = to.delivery ?? message.delivery;
      const notBefore =
        to.notBefore === undefined ? message.notBefore : laterThan(target.now, to.notBefore);
      if (message.delivery === delivered && message.notBefore === notBefore) return [];
      const later = notBefore === undefined ? {} : { notBefore };
      return [{ type: "message.rescheduled", data: { id, delivery: delivered, ...later } }];
    },
    recorded: (event) => {
      if (event.type !== "message.rescheduled") return undefined;
      // Without a time it may be delivered now: 0 has passed.
      const { id, delivery: how, notBefore = 0 } = event.data;
      return () => [id, { delivery: how, notBefore: new Date(notBefore) }];
    },
  }),
  eventCommand({
    name: "resume",
    parameters: [],
    permission: "send",
    route: {
      method: "post",
      path: "/resume",
      audience: "user",
      summary: "Delivers the messages that wait behind a cancelled, failed or interrupted turn.",
    },
    decide: resumed,
    recorded: (event) => (event.type === "session.resumed" ? () => [] : undefined),
  }),
];

function sent(
  { data }: SessionEvent<"message.queued">,
  edit: Pick<SendOptions, "replaces"> = {},
): (recording: Recording) => readonly unknown[] {
  const { id, content, delivery: how, notBefore, about: said, by: who } = data;
  const input = typeof content === "string" ? content : [...content];
  const later = notBefore === undefined ? {} : { notBefore: new Date(notBefore) };
  const more = { ...later, ...edit, ...defined({ about: said, by: who }) };
  return ({ output }) => [input, { id, delivery: how, ...more, ...defined({ output }) }];
}

export function waitingMessage(
  { state }: CommandTarget,
  messageId: string,
): QueuedMessage | undefined {
  return allWaiting(state.queue).find((message) => message.id === messageId);
}

function assertWaiting(target: CommandTarget, command: string, messageId: string): QueuedMessage {
  const message = waitingMessage(target, messageId);
  if (message !== undefined) return message;
  throw refusal(target, command, `message ${messageId} does not wait`);
}

/** No event if no message is held. */
export function resumed({ state }: CommandTarget): Events {
  const { held, queue } = state.machine.context;
  return held && queue.length > 0 ? [{ type: "session.resumed", data: {} }] : [];
}

/** The events that say that the time of messages has come, in the order of their times. */
export function takeDue({ state }: CommandTarget, now: number): Events {
  if (state.machine.matches("closed")) return [];
  return state.queue.later
    .filter(({ notBefore }) => notBefore <= now)
    .map(({ id, delivery: how }) => ({ type: "message.rescheduled", data: { id, delivery: how } }));
}

/** The time in epoch milliseconds; undefined if it has passed: then the message is for now. */
export function laterThan(now: number, time: Date | string): number | undefined {
  const notBefore = new Date(time).getTime();
  return notBefore > now ? notBefore : undefined;
}
