/** What all sessions of a log have spent, as `Runtime.bill`, without a runtime: for the command line. Writes nothing. */

import {
  billDimensions,
  billRows,
  modelCatalogue,
  type BillQuery,
  type BillRow,
} from "../../context/index.ts";
import type { EventLog, TurnlogError } from "../../events/index.ts";
import { BillModel } from "./bill-model.ts";

/** A name of `by` or `where` that is none of a call is a key of the metadata. */
export async function readStoreBill(
  log: EventLog,
  query: BillQuery,
  onWarning: (error: TurnlogError) => void,
): Promise<readonly BillRow[]> {
  const named = [...[query.by ?? []].flat(), ...Object.keys(query.where ?? {})];
  const own = named.filter((name) => !billDimensions.some((dimension) => dimension === name));
  const catalogue = await modelCatalogue();
  const model = new BillModel({
    log,
    keys: [...new Set(["tenant", ...own])],
    prices: () => ({ catalogue }),
    ready: () => Promise.resolve(),
    onWarning,
    isReadOnly: true,
  });
  await model.caughtUp();
  return billRows(model.cells(), query);
}
