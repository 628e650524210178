/** The sums of `Runtime.bill` without a runtime, for the command line. */

import {
  billDimensions,
  billRows,
  modelCatalogue,
  type BillQuery,
  type BillRow,
} from "../../context/index.ts";
import type { EventLog, JsonValue, TurnlogError } from "../../events/index.ts";
import { BillModel } from "./bill-model.ts";

/** A name of `by` or `where` that is none of a call is a key of the metadata. */
export async function readStoreBill(
  log: EventLog,
  query: BillQuery,
  onWarning: (error: TurnlogError) => void,
): Promise<readonly BillRow[]> {
  const named = [...[query.by ?? []].flat(), ...Object.keys(query.where ?? {})];
  const own = named.filter((name) => !billDimensions.some((dimension) => dimension === name));
  const model = await modelOf(log, own, onWarning);
  await model.caughtUp();
  return billRows(model.cells(), query);
}

/**
 * Deletes a session of a store that no runtime has open, and keeps what it spent by day, agent, model and actor. The
 * stored sums of runtimes, which may sum by other keys, are made again.
 */
export async function keepingBill<Deleted>(
  log: EventLog,
  session: string,
  onWarning: (error: TurnlogError) => void,
  work: (spent: JsonValue | undefined) => Promise<Deleted>,
): Promise<Deleted> {
  const model = await modelOf(log, [], onWarning);
  const deleted = await work(await model.left(session));
  await model.forget();
  return deleted;
}

async function modelOf(
  log: EventLog,
  keys: readonly string[],
  onWarning: (error: TurnlogError) => void,
): Promise<BillModel> {
  const catalogue = await modelCatalogue();
  return new BillModel({
    log,
    keys: [...new Set(["tenant", ...keys])],
    prices: () => ({ catalogue }),
    ready: () => Promise.resolve(),
    onWarning,
    isReadOnly: true,
  });
}
