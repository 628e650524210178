/** The stored positions of consumers, each in a row of its own. Not a cache: a damaged one is an error. */

import { z } from "zod";
import type { CursorStore } from "../../events/index.ts";
import { check, name as nameSchema } from "../../validation/index.ts";
import { cursorPositionSchema } from "../log-rules/call-schemas.ts";
import { checkedRow, withChecksum } from "./rows/row-checksum.ts";
import { commitDamage } from "./rows/failures.ts";
import { cursorKey } from "./rows/keys.ts";
import { rowAt, type Database } from "./rows/database.ts";
import type { Committer } from "./write/committer.ts";

interface CursorOptions {
  readonly database: Database;
  readonly committer: Committer;
  readonly assertOpen: () => void;
  readonly assertWritable: () => void;
}

export function levelCursors(options: CursorOptions): CursorStore {
  const { database, committer, assertOpen, assertWritable } = options;
  return {
    async load(name) {
      assertOpen();
      check(nameSchema, name, "cursors.load", { name: "name" });
      const key = cursorKey(name);
      const row = await rowAt(database, key);
      if (row === undefined) return undefined;
      const position = checkedRow(key, row, cursorSchema);
      if (position !== undefined) return position;
      throw commitDamage(0, `the stored position of the consumer ${name} is altered`);
    },

    async save(name, position) {
      assertWritable();
      check(nameSchema, name, "cursors.save", { name: "name" });
      check(cursorPositionSchema, position, "cursors.save", { name: "position" });
      const key = cursorKey(name);
      await committer.write((rows) => rows.put(key, withChecksum(key, position)));
    },
  };
}

/** After a repair 0: the consumer begins again. */
const cursorSchema = z.int().nonnegative();
