/** The client has every command of the catalogue that has a route. */

import { expect, it } from "vitest";
import { serverCommands, sessionCommands } from "../../src/client/command-table.ts";
import { tableRoutes } from "./table-source.ts";

it("by the table that `npm run tables` writes: run it after a change of the catalogue", () => {
  expect({ ...serverCommands, ...sessionCommands }).toEqual(tableRoutes());
});
