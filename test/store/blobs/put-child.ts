/** Puts one blob after the other until it is killed; says each name once its put has resolved. */
import { writeSync } from "node:fs";
import { folderBlobs } from "../../../src/store/blobs/folder-blobs.ts";
import { blobContent } from "./blob-content.ts";

const [dir = "", first = "0"] = process.argv.slice(2);
const blobs = folderBlobs(dir);

for (let number = Number(first); ; number++) {
  const bytes = blobContent(number);
  const source = async function* (): AsyncGenerator<Uint8Array> {
    for (let at = 0; at < bytes.length; at += 7001) yield bytes.subarray(at, at + 7001);
  };
  using held = await blobs.put(number % 2 === 0 ? bytes : source());
  // Not through a stream: what has been said must have been said when it is killed.
  writeSync(1, `${number} ${held.sha256}\n`);
}
