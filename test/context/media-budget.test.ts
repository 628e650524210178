/** Requests with more media than a model takes: what is left out, what stays, and what is known of it. */

import * as fc from "fast-check";
import type { ModelMessage } from "ai";
import { describe, expect, it } from "vitest";
import { asBase64, modelMedia, type MediaLimits } from "../../src/context/models/model-media.ts";
import { defaultEstimator } from "../../src/context/estimate/token-estimator.ts";
import { estimateContext } from "../../src/context/estimate/context-estimate.ts";
import {
  limitedMedia,
  planOmission,
  type OmissionPlan,
} from "../../src/context/shortening/media-budget.ts";
import { meter } from "../../src/context/estimate/message-size.ts";
import { blobReference, type StoredUserPart } from "../../src/events/index.ts";
import { promptDiff, promptMessages, standing } from "../../src/projections/index.ts";
import { problems } from "./next-prompt.ts";
import { gpt, Session } from "./session.ts";

let made = 0;

type StoredFile = StoredUserPart & { readonly type: "file"; readonly data: string };

function picture(bytes: number, more: object = {}): StoredFile {
  made += 1;
  const data = blobReference(made.toString(16).padStart(64, "0"));
  const blob = { bytes, width: 40, height: 30 };
  return { type: "file", data, mediaType: "image/png", filename: `${made}.png`, blob, ...more };
}

function sizeOf(messages: readonly ModelMessage[]): number {
  const measure = meter(defaultEstimator, gpt);
  return messages.reduce((sum, message) => sum + measure.message(message).bytes, 0);
}

function shownIn(messages: readonly ModelMessage[]): readonly string[] {
  const text = JSON.stringify(messages);
  return [...text.matchAll(/"data":"(@blob:[^"]+)"/g)].map(([, found]) => found ?? "");
}

function prompt({ history, view }: Session): readonly ModelMessage[] {
  return promptMessages(history, view);
}

function plan(session: Session, limits: MediaLimits): OmissionPlan | undefined {
  const { history, view } = session;
  return planOmission({ history, view, bytes: sizeOf(prompt(session)), limits });
}

/** Records what is planned, and answers it. */
function omit(session: Session, limits: MediaLimits): OmissionPlan | undefined {
  const data = plan(session, limits);
  if (data !== undefined) session.record({ type: "context.media-omitted", data });
  return data;
}

function reply(session: Session): void {
  session.start();
  session.say("Seen.");
  session.finish();
}

function look(session: Session, ...files: readonly StoredFile[]): void {
  session.start();
  for (const index of files.keys()) session.call(`c${index}`);
  session.finish({}, "tool-calls");
  for (const [index, { data, mediaType, blob }] of files.entries()) {
    const content = { type: "file-data" as const, data, mediaType, ...(blob && { blob }) };
    session.answer(`c${index}`, data, { type: "content", value: [content] });
  }
}

describe("media beyond what a request may have", () => {
  it("are left out oldest first, with room for the next ones, and notes say what stood there", () => {
    const session = new Session();
    const files = Array.from({ length: 11 }, () => picture(9));
    for (const [index, file] of files.entries()) {
      session.ask([{ type: "text", text: `Shot ${index}.` }, file]);
      expect(plan(session, { pictures: 11 })).toBeUndefined();
      reply(session);
      session.end();
    }
    session.ask("And now?");
    expect(omit(session, { pictures: 10 })).toMatchObject({ media: 4 });
    expect(shownIn(prompt(session))).toEqual(files.slice(4).map(({ data }) => data));
    const first = files[0];
    const note = `[The file "${first?.filename}" (image/png, 9 bytes) is no longer shown: the request would be too large. ${first?.data}]`;
    expect(prompt(session)[0]?.content).toEqual([
      { type: "text", text: "Shot 0." },
      { type: "text", text: note },
    ]);
    expect(omit(session, { pictures: 10 })).toBeUndefined();
  });

  it("that no model has answered to go only as far as they must", () => {
    const session = new Session();
    session.ask([picture(9), picture(9)]);
    look(session, ...Array.from({ length: 12 }, () => picture(9)));
    expect(omit(session, { pictures: 10 })).toMatchObject({ media: 4 });
    expect(shownIn(prompt(session))).toHaveLength(10);
    reply(session);
    expect(omit(session, { pictures: 10 })).toBeUndefined();
    const huge = new Session();
    huge.ask([picture(600), picture(800)]);
    expect(omit(huge, { requestCharacters: 1300 })).toMatchObject({ media: 1 });
    expect(shownIn(prompt(huge))).toHaveLength(1);
  });

  it("are counted through messages that were delivered together", () => {
    const session = new Session();
    const [one, two, three, four] = [picture(9), picture(9), picture(9), picture(9)];
    session.ask("Words alone.", [one, two], [three, four]);
    const before = session.view;
    const there = [
      { id: "m1.1", media: 2 },
      { id: "m1.2", media: 1 },
    ];
    expect(omit(session, { pictures: 1 })).toMatchObject({ before: session.position - 1, there });
    expect(shownIn(prompt(session))).toEqual([four.data]);
    const { history, view } = session;
    const diff = promptDiff(
      { history, view: before, summary: {}, standing: standing.initial },
      { history, view, summary: {}, standing: standing.initial },
    );
    const places = diff.changes.map(({ index, why }) => [index, why]);
    expect(places).toEqual([
      [1, "media-omitted"],
      [2, "media-omitted"],
    ]);
  });

  it("are not those that the model does not take, which are a few words, nor what is read as text", () => {
    const session = new Session();
    const broken = picture(90_000, { blob: { bytes: 90_000, fault: "it ends" } });
    const film = picture(90_000, { mediaType: "video/mp4" });
    const table = picture(900, { mediaType: "text/csv" });
    session.ask([broken, film, table, picture(90)]);
    const limits = { requestCharacters: 4000, types: ["image/", "text/"] };
    expect(plan(session, limits)).toBeUndefined();
    expect(omit(session, { ...limits, requestCharacters: 1000 })).toMatchObject({ media: 3 });
    expect(shownIn(prompt(session))).toEqual([table.data]);
  });

  it("count a picture with too many bytes as the smaller copy that is sent of it", () => {
    const MB = 1024 * 1024;
    const session = new Session();
    session.ask(Array.from({ length: 4 }, () => picture(3 * MB)));
    const room = (megabytes: number): OmissionPlan | undefined =>
      plan(session, { pictureCharacters: 1000, requestCharacters: megabytes * MB });
    expect(room(4.1)).toBeUndefined();
    expect(room(3.5)).toMatchObject({ media: 1 });
    expect(room(2.5)).toMatchObject({ media: 2 });
    // So is one with too many pixels, and a document with too many pages is a few words.
    const wide = { pictureEdge: 30, pages: 3, requestCharacters: 5 * MB };
    expect(plan(session, wide)).toBeUndefined();
    const long = new Session();
    const document = { mediaType: "application/pdf", blob: { bytes: 3 * MB, pages: 4 } };
    long.ask([picture(0, document), picture(0, document)]);
    expect(plan(long, wide)).toBeUndefined();
    expect(plan(long, { requestCharacters: 5 * MB })).toMatchObject({ media: 1 });
    const small = new Session();
    small.ask([picture(900), picture(900)]);
    const least = { pictureCharacters: 1000, requestCharacters: 2500 };
    expect(plan(small, least)).toBeUndefined();
    expect(plan(small, { ...least, requestCharacters: 2000 })).toMatchObject({ media: 1 });
  });

  it("leave a request within its limits, or with no medium left, whatever there was, and a valid prompt", () => {
    const file = fc
      .tuple(fc.nat(3000), fc.constantFrom("image/png", "application/pdf"))
      .map(([bytes, mediaType]) => picture(bytes, { mediaType }));
    const turn = fc.record({
      sent: fc.array(file, { maxLength: 5 }),
      seen: fc.array(fc.array(file, { minLength: 1, maxLength: 4 }), { maxLength: 3 }),
      text: fc.nat(2000),
    });
    const limits = { requestCharacters: 12_000, pictures: 6 };
    let omissions = 0;
    fc.assert(
      fc.property(fc.array(turn, { minLength: 1, maxLength: 6 }), (turns) => {
        const session = new Session();
        const check = (): void => {
          const bare = session.view;
          const whole = prompt(session);
          const before = JSON.stringify(whole);
          if (omit(session, limits) !== undefined) omissions += 1;
          const messages = prompt(session);
          const shown = shownIn(messages);
          const pictures = [...JSON.stringify(messages).matchAll(/"mediaType":"image/g)].length;
          const isWithin = sizeOf(messages) <= 12_000 && pictures <= 6;
          expect(isWithin || shown.length === 0).toBe(true);
          expect(problems(session)).toEqual([]);
          // The newest stay: what is shown is an end of what was.
          expect(shownIn(whole).slice(-shown.length || Infinity)).toEqual(shown);
          // Undone, it is what it was to the byte.
          const { omissions: left } = session.view;
          if (left.length === bare.omissions.length) return;
          const { position = 0 } = left.at(-1) ?? {};
          const mark = session.mark();
          session.record({ type: "context.restored", data: { position } });
          expect(JSON.stringify(prompt(session))).toBe(before);
          session.back(mark);
        };
        for (const { sent, seen, text } of turns) {
          session.ask([{ type: "text", text: `Look. ${"a ".repeat(text)}` }, ...sent]);
          for (const files of seen) {
            check();
            look(session, ...files);
          }
          check();
          reply(session);
          session.end();
        }
      }),
    );
    expect(omissions).toBeGreaterThan(50);
  });

  it("are taken from what was billed", () => {
    const session = new Session();
    session.ask([picture(90), picture(90)]);
    session.start();
    session.say("Seen.");
    session.finish({ inputTokens: 3000, outputTokens: 10 });
    session.end();
    session.ask("And now?");
    const { history, usage, calibration } = session;
    const tokens = (): number => {
      const fixed = { model: gpt, instructions: "", tools: "", history, usage, calibration };
      return estimateContext({ ...fixed, view: session.view }).tokens;
    };
    const [before, media] = [
      tokens(),
      meter(defaultEstimator, gpt).message(prompt(session)[0] ?? { role: "user", content: "" }),
    ];
    omit(session, { pictures: 0 });
    const notes = meter(defaultEstimator, gpt).message(
      prompt(session)[0] ?? { role: "user", content: "" },
    );
    expect(media.media).toBeGreaterThan(100);
    expect(before - tokens()).toBeCloseTo(media.media - (notes.text - media.text), -1);
  });
});

describe("limits", () => {
  it("of a user go before what is known of a model, where they are less", () => {
    const haiku = modelMedia({ provider: "anthropic", modelId: "claude-haiku-4-5" });
    const { requestCharacters, pictures, types } =
      limitedMedia(haiku, { pictures: 9, requestBytes: 1e9 }) ?? {};
    expect([requestCharacters, pictures]).toEqual([haiku?.requestCharacters, 9]);
    expect(types).toEqual(haiku?.types);
    expect(limitedMedia(haiku, { types: ["video/"] })?.types).toEqual(["video/"]);
    expect(limitedMedia(undefined)).toBeUndefined();
    expect(limitedMedia(undefined, { requestBytes: 5 })).toEqual({ requestCharacters: 5 });
  });

  it("are of base64", () => {
    expect([0, 1, 3, 4].map(asBase64)).toEqual([0, 4, 4, 8]);
  });
});
