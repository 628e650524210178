/** The commands about a session's messages: `send`, `withdraw`, `reschedule`, `resume`. Pure. */

import { allWaiting, type QueuedMessage } from "../projections/index.ts";
import { outputSchema, turnContextSchema } from "../agent/index.ts";
import { moment, oneOf, shortName, text, thing } from "../validation/index.ts";
import { eventCommand, runtimeCommand, type Command, type Events } from "./command.ts";
import { refusal, type CommandTarget } from "./target.ts";
import { basedOn } from "./head.ts";
import type { ScheduleOptions, SendOptions, WithdrawOptions } from "./options.ts";
import { by, options, required, requiredOptions, unchecked } from "./parameters.ts";

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
          context: turnContextSchema,
          output: outputSchema,
          options: thing("anything", () => true),
        },
        local: ["context", "output", "options"],
        and: thing(
          "an object without `notBefore` if it `replaces` a message: an edit is sent immediately",
          (value) =>
            Reflect.get(Object(value), "notBefore") === undefined ||
            Reflect.get(Object(value), "replaces") === undefined,
        ),
      }),
    ],
    permission: "send",
    route: {
      method: "post",
      path: "/queue",
      summary:
        "Accepts a message, which is durable when this responds. Repeating an id means the same message.",
    },
    answer: { kind: "turn" },
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
      summary: "Withdraws a waiting message.",
    },
    decide: (target, id, why) => {
      assertWaiting(target, "withdraw", id);
      return [{ type: "message.withdrawn", data: { ids: [id], ...why } }];
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
  }),
  eventCommand({
    name: "resume",
    parameters: [],
    permission: "send",
    route: {
      method: "post",
      path: "/resume",
      summary: "Delivers the messages that wait behind a cancelled, failed or interrupted turn.",
    },
    decide: resumed,
  }),
];

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
