/** Why the last command of the person was refused. */

import { useSelector } from "@xstate/store-react";
import { refusalStore } from "../data/give.ts";

export function Refusal() {
  const words = useSelector(refusalStore, ({ context }) => context.words);
  if (words === undefined) return null;
  return (
    <div className="toast bad" role="alert">
      {words}
      <button
        type="button"
        className="icon"
        aria-label="Close"
        onClick={() => refusalStore.trigger.changed({})}
      >
        ×
      </button>
    </div>
  );
}
