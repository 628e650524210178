/** The difference that `prepareStep` made: what is hidden, shown again, removed and added, and nothing that stays. */

import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import type { EventBody, MessageChange, PromptPlace } from "../../src/events/index.ts";
import {
  isSamePrompt,
  messageChange,
  promptEntries,
  promptMessages,
} from "../../src/projections/index.ts";
import { plainEntries } from "../../src/projections/prompt.ts";
import { Session } from "../context/session.ts";

const user = (content: string): ModelMessage => ({ role: "user", content });

/** A request, two steps with a call each, and a message between them. */
function talked(): Session {
  const session = new Session();
  session.ask("Begin.");
  session.work("one");
  session.steer("Faster.");
  session.work("two");
  return session;
}

const prompt = ({ history, view }: Session): readonly ModelMessage[] =>
  promptMessages(history, view);

function places({ history, view }: Session): readonly PromptPlace[] {
  return plainEntries(history, view).map(({ place }) => place);
}

function changeTo(session: Session, messages: readonly ModelMessage[]): MessageChange {
  return messageChange(session.history, session.view, messages);
}

function prepare(session: Session, messages: readonly ModelMessage[]): MessageChange {
  const change = changeTo(session, messages);
  const event: EventBody<"step.prepared"> = {
    type: "step.prepared",
    data: { turn: 1, step: session.step + 1, messages: change },
  };
  session.record(structuredClone(event));
  return change;
}

/** The place of the message with an index, which is there. */
function placeAt(session: Session, index: number): PromptPlace {
  const place = places(session)[index];
  if (place === undefined) throw new Error(`There is no message ${index}.`);
  return place;
}

describe("the messages of a prompt", () => {
  it("have places in its order: a reply before the results of its calls, messages of one delivery by number", () => {
    const session = talked();
    const [go, , , steered] = places(session);
    const [, first, second] = session.history.items.map(({ position }) => position);
    expect(places(session)).toEqual([
      [go?.[0], 0],
      [first, 0],
      [first, 1],
      [second, 0],
      [session.history.open?.position, 0],
      [session.history.open?.position, 1],
    ]);
    expect(steered).toEqual([second, 0]);
    const together = new Session();
    together.ask("One.", "Two.", "Three.");
    expect(places(together)).toEqual([
      [5, 0],
      [5, 1],
      [5, 2],
    ]);
  });

  it("that all stay are no change", () => {
    const session = talked();
    expect(changeTo(session, prompt(session))).toStrictEqual({});
    expect(changeTo(session, structuredClone([...prompt(session)]))).toStrictEqual({});
  });

  it("that are left out are ranges of places, one for neighbours", () => {
    const session = talked();
    const [first, ...rest] = prompt(session);
    const at = (index: number): PromptPlace => placeAt(session, index);
    expect(changeTo(session, rest)).toStrictEqual({ hidden: [{ from: at(0), to: at(0) }] });
    expect(changeTo(session, first === undefined ? [] : [first])).toStrictEqual({
      hidden: [{ from: at(1), to: at(5) }],
    });
    const some = prompt(session).filter((_, index) => [2, 5].includes(index));
    expect(changeTo(session, some)).toStrictEqual({
      hidden: [
        { from: at(0), to: at(1) },
        { from: at(3), to: at(4) },
      ],
    });
  });

  it("that are left out already are not named again, and are shown again if they come back", () => {
    const session = talked();
    const whole = prompt(session);
    const [from, to] = [placeAt(session, 1), placeAt(session, 2)];
    const kept = whole.filter((_, index) => index !== 1 && index !== 2);
    prepare(session, kept);
    expect(prompt(session)).toEqual(kept);
    expect(changeTo(session, kept)).toStrictEqual({});
    expect(prepare(session, whole)).toStrictEqual({ shown: [{ from, to }] });
    expect(session.view.edit).toStrictEqual({ hidden: [], summaries: [], added: [] });
  });

  it("are named by the wider range once more of them are left out, which replaces the range within it", () => {
    const session = talked();
    const whole = prompt(session);
    prepare(
      session,
      whole.filter((_, index) => index !== 1 && index !== 2),
    );
    const less = whole.filter((_, index) => index === 0 || index > 3);
    const hidden = [{ from: placeAt(session, 1), to: placeAt(session, 3) }];
    expect(prepare(session, less)).toStrictEqual({ hidden });
    expect(session.view.edit?.hidden).toStrictEqual(hidden);
    expect(prompt(session)).toEqual(less);
  });

  it("are all replaced if the change is whole", () => {
    const session = talked();
    const whole = prompt(session);
    const change = messageChange(session.history, session.view, whole, true);
    const after = { place: [0, 0] };
    expect(change).toEqual({
      hidden: [{ from: placeAt(session, 0), to: placeAt(session, 5) }],
      added: whole.map((message) => ({ after, message })),
    });
  });
});

describe("new messages", () => {
  it("follow the message before them, of the prompt or added, and stand at the beginning else", () => {
    const session = talked();
    const [first, ...rest] = prompt(session);
    if (first === undefined) throw new Error("The prompt is empty.");
    const [a, b] = [user("A"), user("B")];
    const change = prepare(session, [a, first, b, ...rest]);
    expect(change).toStrictEqual({
      added: [
        { after: { place: [0, 0] }, message: a },
        { after: { place: placeAt(session, 0) }, message: b },
      ],
    });
    const position = session.position;
    const c = user("C");
    expect(prepare(session, [a, first, b, c, ...rest])).toStrictEqual({
      added: [{ after: { position, index: 1 }, message: c }],
    });
    expect(prompt(session)).toEqual([a, first, b, c, ...rest]);
    const origins = promptEntries(session.history, session.view).map(({ origin }) => origin);
    expect(origins.slice(0, 4)).toEqual([
      { kind: "prepared", position, index: 0 },
      { kind: "user", position: placeAt(session, 0)[0], id: "m1" },
      { kind: "prepared", position, index: 1 },
      { kind: "prepared", position: session.position, index: 0 },
    ]);
    expect(prepare(session, [first, b, ...rest])).toStrictEqual({
      removed: [
        { position, index: 0 },
        { position: position + 1, index: 0 },
      ],
    });
    expect(prompt(session)).toEqual([first, b, ...rest]);
  });

  it("that are the same as known ones are those, as often as those are there", () => {
    const session = talked();
    const whole = prompt(session);
    const [first] = whole;
    if (first === undefined) throw new Error("The prompt is empty.");
    const again = user("Begin.");
    const twice = changeTo(session, [again, again, ...whole.slice(1)]);
    expect(twice).toStrictEqual({
      added: [{ after: { place: placeAt(session, 0) }, message: again }],
    });
    const same = changeTo(session, [first, first, ...whole.slice(1)]);
    expect(same).toStrictEqual({
      added: [{ after: { place: placeAt(session, 0) }, message: first }],
    });
  });

  it("are none where a message that was said thrice is there thrice", () => {
    const session = new Session();
    session.ask("Go.", "Go.", "Go.");
    const whole = prompt(session);
    expect(changeTo(session, structuredClone([...whole]))).toStrictEqual({});
    const [first] = whole;
    const copies = structuredClone(whole.filter((message) => message !== first));
    expect(changeTo(session, copies)).toStrictEqual({
      hidden: [{ from: placeAt(session, 2), to: placeAt(session, 2) }],
    });
  });

  it("are those that moved: the most messages stay that are in order", () => {
    const session = new Session();
    session.ask("1", "2", "3", "4", "5");
    const at = (index: number): PromptPlace => placeAt(session, index);
    const [one, two, three, four, five] = prompt(session);
    const to = (...moved: readonly (ModelMessage | undefined)[]): MessageChange =>
      changeTo(
        session,
        moved.filter((message) => message !== undefined),
      );
    expect(to(two, three, four, five, one)).toStrictEqual({
      hidden: [{ from: at(0), to: at(0) }],
      added: [{ after: { place: at(4) }, message: one }],
    });
    expect(to(five, one, two, three, four)).toStrictEqual({
      hidden: [{ from: at(4), to: at(4) }],
      added: [{ after: { place: [0, 0] }, message: five }],
    });
    expect(to(three, one, five, two, four)).toStrictEqual({
      hidden: [
        { from: at(2), to: at(2) },
        { from: at(4), to: at(4) },
      ],
      added: [
        { after: { place: [0, 0] }, message: three },
        { after: { place: at(0) }, message: five },
      ],
    });
  });
});

it("a summary is left out by its compaction, and is shown again", () => {
  const session = talked();
  const compacted = (from: number, to: number, summary: string): number => {
    const data = { strategy: "s", covers: { from, to }, summary, beforeTokens: 9, afterTokens: 1 };
    session.record({ type: "context.compacted", data });
    return session.position;
  };
  const first = compacted(1, placeAt(session, 2)[0], "So far.");
  const whole = prompt(session);
  expect(places(session)[0]).toEqual([1, 0]);
  const rest = whole.slice(1);
  expect(prepare(session, rest)).toStrictEqual({ summaries: [first] });
  expect(prompt(session)).toEqual(rest);
  expect(changeTo(session, rest)).toStrictEqual({});
  expect(prepare(session, whole)).toStrictEqual({ summaries: [] });
  expect(prompt(session)).toEqual(whole);
  expect(prepare(session, whole.slice(0, 1))).toMatchObject({
    hidden: [{ from: placeAt(session, 1), to: placeAt(session, 3) }],
  });
});

it("prompts are the same if their messages are, in order and number", () => {
  const [a, b] = [user("A"), user("B")];
  expect(isSamePrompt([a, b], [user("A"), b])).toBe(true);
  expect(isSamePrompt([], [])).toBe(true);
  expect(isSamePrompt([a, b], [b, a])).toBe(false);
  expect(isSamePrompt([a], [a, b])).toBe(false);
  expect(isSamePrompt([a, b], [a])).toBe(false);
});
