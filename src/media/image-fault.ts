/**
 * Whether a picture is whole, as far as its outer form tells: one that was cut off has a size in its
 * header all the same, and a provider that cannot read it refuses every prompt that has it.
 */

/** What is wrong with a picture, in words; undefined where nothing is known to be. */
export function imageFault(
  content: Uint8Array,
  mediaType: string,
  hasSize: boolean,
): string | undefined {
  const ends = endings[mediaType];
  if (ends === undefined) return undefined;
  if (!hasSize) return "its header cannot be read";
  return ends(Buffer.from(content.buffer, content.byteOffset, content.byteLength))
    ? undefined
    : "it ends before it is complete";
}

/** Programs append what they like behind a picture: how far from the end its own end may be. */
const TRAILER = 65_536;

const endings: Readonly<Record<string, (content: Buffer) => boolean>> = {
  "image/png": (content) => {
    const end = content.indexOf("IEND", Math.max(0, content.length - TRAILER), "latin1");
    // Its name, and its sum behind it.
    return end !== -1 && end + 8 <= content.length;
  },
  "image/jpeg": (content) =>
    content.includes(Buffer.from([0xff, 0xd9]), Math.max(0, content.length - TRAILER)),
  "image/webp": (content) => content.length >= 12 && content.readUInt32LE(4) + 8 <= content.length,
  // Its end is one byte, which its pixels may have too.
  "image/gif": () => true,
};
