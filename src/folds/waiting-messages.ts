/**
 * Which messages wait for delivery, and in which order: first those that may be delivered now, then those for
 * later, by their times. Each fold keeps of a message what it needs.
 */

interface Waiting {
  readonly id: string;
  /** Epoch milliseconds: it is not delivered before. Absent if it may be delivered now. */
  readonly notBefore?: number;
}

/** Adds a message behind those that may be delivered now, or at its time. */
export function withMessage<Message extends Waiting>(
  messages: readonly Message[],
  message: Message,
): readonly Message[] {
  const { notBefore = -Infinity } = message;
  const behind = messages.findIndex(({ notBefore: other = -Infinity }) => other > notBefore);
  return behind === -1 ? [...messages, message] : messages.toSpliced(behind, 0, message);
}

/** Removes messages that were delivered or withdrawn. */
export function withoutMessages<Message extends Waiting>(
  messages: readonly Message[],
  ids: readonly string[],
): readonly Message[] {
  const gone = new Set(ids);
  return messages.filter(({ id }) => !gone.has(id));
}

/** Changes a message. It keeps its place if it could be delivered before, and still can. */
export function withMoved<Message extends Waiting>(
  messages: readonly Message[],
  id: string,
  change: (message: Message) => Message,
): readonly Message[] {
  const index = messages.findIndex((message) => message.id === id);
  const before = messages[index];
  if (before === undefined) return messages;
  const after = change(before);
  return before.notBefore === undefined && after.notBefore === undefined
    ? messages.with(index, after)
    : withMessage(messages.toSpliced(index, 1), after);
}

/** Adds the messages that wait again after a rewind: they are delivered first. */
export function withAgain<Message extends Waiting>(
  messages: readonly Message[],
  again: readonly Message[],
): readonly Message[] {
  return [...again, ...messages];
}
