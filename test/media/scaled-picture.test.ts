/** Pictures above a model's limits: scaled down where `sharp` is installed, and named where it is not. */

import type { ModelMessage } from "ai";
import sharp from "sharp";
import { describe, expect, it } from "vitest";
import { modelMedia, SCALED_CHARACTERS } from "../../src/context/index.ts";
import { memoryBlobs } from "../../src/store/blobs/index.ts";
import { blobReference, type ModelName } from "../../src/events/index.ts";
import { promptWithMedia } from "../../src/public/index.ts";
import type { KnownBlob } from "../../src/projections/index.ts";
import { SessionBlobs } from "../../src/media/blobs-of-session.ts";
import { scriptedModel } from "../../src/models/index.ts";
import { png } from "../support/media.ts";
import { seededRandom } from "../support/random.ts";
import { openSession } from "../support/with-runtime.ts";

const claude: ModelName = { provider: "anthropic", modelId: "claude-haiku-4-5" };

interface Sent {
  readonly data: string;
  readonly mediaType: string;
}

type Scaler = NonNullable<ConstructorParameters<typeof SessionBlobs>[0]["scaler"]>;

/** What is sent of a picture: its content, or a note. */
async function sent(content: Buffer, known: KnownBlob, scaler?: Scaler): Promise<Sent | string> {
  const store = memoryBlobs();
  using stored = await store.put(content);
  const blobs = new SessionBlobs({
    session: "s",
    store,
    isKept: true,
    limits: {},
    media: modelMedia(claude),
    known: () => ({ stored: { [stored.sha256]: known }, bytes: 0 }),
    onWarning: () => {},
    ...(scaler === undefined ? {} : { scaler }),
  });
  const data = blobReference(stored.sha256);
  const message: ModelMessage = {
    role: "user",
    content: [{ type: "file", data, mediaType: known.mediaType }],
  };
  const [expanded] = await blobs.expand([message]);
  const part = typeof expanded?.content === "string" ? undefined : expanded?.content[0];
  if (part?.type === "text") return part.text;
  if (part?.type !== "file" || typeof part.data !== "string") throw new Error("Nothing is sent.");
  return { data: part.data, mediaType: part.mediaType };
}

async function looked(found: Sent | string) {
  if (typeof found === "string") throw new Error(found);
  const content = Buffer.from(found.data, "base64");
  const { width, height, format, pages = 1, orientation } = await sharp(content).metadata();
  return { width, height, format, pages, orientation, characters: found.data.length };
}

const noise = (width: number, height: number): KnownBlob & { content: Buffer } => {
  const content = png({ width, height, seed: 1 });
  return { content, mediaType: "image/png", bytes: content.length, width, height };
};

describe("a picture above the limits of a model", () => {
  it("is sent as a smaller copy where it has too many bytes, in the form that makes it small enough", async () => {
    const { content, ...known } = noise(2400, 2000);
    expect(known.bytes).toBeGreaterThan(4_000_000);
    const copy = await looked(await sent(content, known));
    expect(copy).toMatchObject({ width: 1568, height: 1307, format: "jpeg" });
    expect(copy.characters).toBeLessThanOrEqual(SCALED_CHARACTERS);
  });

  it("is not made larger where it has few pixels and too many bytes", async () => {
    const size = { width: 1200, height: 1200 };
    const random = seededRandom("noise");
    const pixels = Buffer.from(Array.from({ length: 1200 * 1200 * 3 }, () => random.below(256)));
    const content = await sharp(pixels, { raw: { ...size, channels: 3 } })
      .png()
      .toBuffer();
    const known = { mediaType: "image/png", bytes: content.length, ...size };
    expect(known.bytes).toBeGreaterThan(4_000_000);
    expect(await looked(await sent(content, known))).toMatchObject({ ...size, format: "jpeg" });
  });

  it("is sent as a smaller copy where it has too many pixels, and a drawing stays PNG", async () => {
    const content = png({ width: 9000, height: 90 });
    const known = { mediaType: "image/png", bytes: content.length, width: 9000, height: 90 };
    const copy = await looked(await sent(content, known));
    expect(copy).toMatchObject({ width: 8000, height: 80, format: "png" });
  });

  it("is sent upright, whichever way the camera was held", async () => {
    const content = await sharp({
      create: { width: 9000, height: 30, channels: 3, background: "red" },
    })
      .jpeg()
      .withMetadata({ orientation: 6 })
      .toBuffer();
    const known = { mediaType: "image/jpeg", bytes: content.length, width: 30, height: 9000 };
    const copy = await looked(await sent(content, known));
    expect(copy).toMatchObject({ width: 27, height: 8000, format: "jpeg", orientation: undefined });
  });

  it("is sent as its first picture where it moves", async () => {
    const frame = { width: 8100, height: 8, channels: 3 as const };
    const frames = await Promise.all(
      ["red", "blue"].map((background) =>
        sharp({ create: { ...frame, background } })
          .png()
          .toBuffer(),
      ),
    );
    const content = await sharp(frames, { join: { animated: true } })
      .gif()
      .toBuffer();
    expect((await sharp(content).metadata()).pages).toBe(2);
    const known = { mediaType: "image/gif", bytes: content.length, width: 8100, height: 8 };
    const found = await sent(content, known);
    expect(await looked(found)).toMatchObject({ width: 8000, height: 8, format: "png", pages: 1 });
    if (typeof found === "string") throw new Error(found);
    const { dominant } = await sharp(Buffer.from(found.data, "base64")).stats();
    expect(dominant.r).toBeGreaterThan(dominant.b);
  });

  it("keeps what shines through", async () => {
    const content = await sharp({
      create: {
        width: 8100,
        height: 40,
        channels: 4,
        background: { r: 9, g: 9, b: 9, alpha: 0.5 },
      },
    })
      .webp()
      .toBuffer();
    const known = { mediaType: "image/webp", bytes: content.length, width: 8100, height: 40 };
    const found = await sent(content, known);
    expect(await looked(found)).toMatchObject({ width: 8000, format: "webp" });
  });

  it("is named where it cannot be read, and where it is known to be broken", async () => {
    const { content, ...known } = noise(2400, 2000);
    const torn = Buffer.concat([content.subarray(0, 60), Buffer.alloc(content.length - 60)]);
    expect(await sent(torn, known)).toContain("this model takes at most 3932160 bytes");
    const fault = "it ends before it is complete";
    expect(await sent(content, { ...known, fault })).toContain(`it is broken: ${fault}`);
  });

  it("is named when no smaller copies can be made", async () => {
    const { content, ...known } = noise(2400, 2000);
    const note = await sent(content, known, () => Promise.resolve(undefined));
    expect(note).toMatch(
      /^\[The file \(image\/png, \d+ bytes\) is not shown here: this model takes at most 3932160 bytes\. @blob:/,
    );
  });

  it("is looked at by the model, and the log has it as it was", async () => {
    const { content } = noise(2400, 2000);
    const model = Object.assign(scriptedModel(["Seen."]), claude);
    await using open = await openSession({ model });
    const file = { type: "file", mediaType: "image/png", data: content } as const;
    await (
      await open.session.send([{ type: "text", text: "Look." }, file])
    ).result;
    const [given] = model.calls[0]?.prompt.filter(({ role }) => role === "user") ?? [];
    const parts = JSON.stringify(given);
    expect(parts).toContain("image/jpeg");
    expect(parts.length).toBeLessThan(SCALED_CHARACTERS + 1000);
    const stored = (await open.events()).filter(({ type }) => type === "blob.stored");
    expect(stored).toHaveLength(1);
    expect(stored[0]?.data).toMatchObject({ bytes: content.length, mediaType: "image/png" });
    const [shown] = await promptWithMedia(open.log, "s", { model: claude });
    expect(JSON.stringify(shown)).toContain("image/jpeg");
  });
});
