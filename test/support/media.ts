/** Pictures, documents and sound of our own, made in code: small, true to their formats' outer form. */

import { crc32, deflateSync } from "node:zlib";

interface PictureSize {
  readonly width: number;
  readonly height: number;
}

function chunk(name: string, data: Buffer): Buffer {
  const head = Buffer.alloc(8);
  head.writeUInt32BE(data.length, 0);
  head.write(name, 4, "latin1");
  const sum = Buffer.alloc(4);
  sum.writeUInt32BE(crc32(data, crc32(Buffer.from(name, "latin1"))), 0);
  return Buffer.concat([head, data, sum]);
}

/** A picture in grey that a seed fills: with one, its bytes do not shrink. */
export function png({ width, height, seed }: PictureSize & { readonly seed?: number }): Buffer {
  const header = Buffer.alloc(13);
  header.writeUInt32BE(width, 0);
  header.writeUInt32BE(height, 4);
  header.writeUInt8(8, 8);
  const rows = Buffer.alloc((width + 1) * height);
  if (seed !== undefined) {
    let state = seed + 1;
    for (let at = 0; at < rows.length; at++) {
      state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0;
      rows[at] = at % (width + 1) === 0 ? 0 : state >>> 24;
    }
  }
  return Buffer.concat([
    Buffer.from("\u0089PNG\r\n\u001A\n", "latin1"),
    chunk("IHDR", header),
    chunk("IDAT", deflateSync(rows, { level: 1 })),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The frame of a JPEG: how it is turned, its size, and an end; no pixels. */
export function jpeg({
  width,
  height,
  orientation = 1,
}: PictureSize & { readonly orientation?: number }): Buffer {
  const tiff = Buffer.alloc(26);
  tiff.write("MM\u0000*", 0, "latin1");
  tiff.writeUInt32BE(8, 4);
  tiff.writeUInt16BE(1, 8);
  tiff.writeUInt16BE(0x01_12, 10);
  tiff.writeUInt16BE(3, 12);
  tiff.writeUInt32BE(1, 14);
  tiff.writeUInt16BE(orientation, 18);
  const exif = Buffer.concat([Buffer.from("Exif\u0000\u0000", "latin1"), tiff]);
  const app1 = Buffer.alloc(4);
  app1.writeUInt16BE(0xff_e1, 0);
  app1.writeUInt16BE(exif.length + 2, 2);
  const frame = Buffer.from([0xff, 0xc0, 0, 11, 8, 0, 0, 0, 0, 1, 1, 0x11, 0]);
  frame.writeUInt16BE(height, 5);
  frame.writeUInt16BE(width, 7);
  return Buffer.concat([Buffer.from([0xff, 0xd8]), app1, exif, frame, Buffer.from([0xff, 0xd9])]);
}

/** A picture of two frames that moves. */
export function animatedGif({ width, height }: PictureSize): Buffer {
  const screen = Buffer.alloc(13);
  screen.write("GIF89a", 0, "latin1");
  screen.writeUInt16LE(width, 6);
  screen.writeUInt16LE(height, 8);
  screen.writeUInt8(0x80, 10);
  const colours = Buffer.from([0, 0, 0, 255, 255, 255]);
  const frame = Buffer.from([
    0x21, 0xf9, 4, 0, 10, 0, 0, 0, 0x2c, 0, 0, 0, 0, 1, 0, 1, 0, 0, 2, 2, 0x44, 1, 0,
  ]);
  return Buffer.concat([screen, colours, frame, frame, Buffer.from([0x3b])]);
}

/** A document with so many empty pages, padded where it is to be larger. */
export function pdf(pages: number, padding = 0): Buffer {
  const kids = Array.from({ length: pages }, (_, index) => `${index + 3} 0 R`).join(" ");
  const objects = [
    "<< /Type /Catalog /Pages 2 0 R >>",
    `<< /Type /Pages /Kids [${kids}] /Count ${pages} >>`,
    ...Array.from({ length: pages }, () => "<< /Type /Page /Parent 2 0 R /MediaBox [0 0 9 9] >>"),
  ];
  const body = objects.map((one, index) => `${index + 1} 0 obj\n${one}\nendobj\n`).join("");
  return Buffer.from(
    `%PDF-1.4\n${body}%${"x".repeat(padding)}\ntrailer << /Root 1 0 R >>\n%%EOF\n`,
  );
}

/** Silence of so many seconds: 16 kHz, 16 bit. */
export function wav(seconds: number): Buffer {
  const data = Buffer.alloc(32_000 * seconds);
  const head = Buffer.alloc(44);
  head.write("RIFF", 0, "latin1");
  head.writeUInt32LE(36 + data.length, 4);
  head.write("WAVEfmt ", 8, "latin1");
  head.writeUInt32LE(16, 16);
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(16_000, 24);
  head.writeUInt32LE(32_000, 28);
  head.writeUInt16LE(2, 32);
  head.writeUInt16LE(16, 34);
  head.write("data", 36, "latin1");
  head.writeUInt32LE(data.length, 40);
  return Buffer.concat([head, data]);
}
