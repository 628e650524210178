/** How an error prints: with the fields that it has. */

import { inspect } from "node:util";
import { expect, it } from "vitest";
import { TurnlogError } from "../../src/events/index.ts";

it("prints the session and the position that it has, and no others", () => {
  const plain = new TurnlogError("INVALID_INPUT", "No.");
  expect(plain.session).toBeUndefined();
  expect(inspect(plain)).not.toMatch(/session|position/);
  const placed = new TurnlogError("INVALID_INPUT", "No.", { session: "s", position: 3 });
  expect(inspect(placed)).toMatch(/session: 's',\s+position: 3/);
});
