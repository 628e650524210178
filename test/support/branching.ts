/** A conversation with an undo, a checkout, an edit and a regeneration, for tests of rewound sessions. */

import type { Session } from "../../src/public/index.ts";

/** Takes two replies of the model for "a" and "b", and one for each of the three that follow. */
export async function playBranches(
  session: Session,
  regeneration: { readonly idempotencyKey?: string } = {},
): Promise<void> {
  for (const id of ["a", "b"]) await (await session.send(id, { id })).result;
  await session.rewind({ beforeTurn: 2, tell: true });
  await (
    await session.send("c", { id: "c" })
  ).result;
  await session.checkout(1);
  await (
    await session.send("b2", { id: "b2", replaces: "b" })
  ).result;
  await (
    await session.regenerate(regeneration)
  ).result;
}
