/** The list of keys, on `?`. */

import { Dialog } from "../parts/dialog.tsx";
import { nameOfKey, type Key } from "./keys.ts";

export function Help({
  keys,
  onClose,
}: {
  readonly keys: readonly Key[];
  readonly onClose: () => void;
}) {
  const groups = Map.groupBy(keys, ({ group }) => group);
  return (
    <Dialog title="Keys" onClose={onClose}>
      <div className="key-groups">
        {[...groups].map(([group, ofGroup]) => (
          <section key={group}>
            <h3>{group}</h3>
            <dl className="keys">
              {ofGroup.map(({ keys: pressed, does }) => (
                <div key={does}>
                  <dt>
                    {pressed.map((key) => (
                      <kbd key={key}>{nameOfKey(key)}</kbd>
                    ))}
                  </dt>
                  <dd>{does}</dd>
                </div>
              ))}
            </dl>
          </section>
        ))}
      </div>
      <p className="dim">
        Lists and trees take one stop of the Tab key; the arrow keys move within them.
      </p>
    </Dialog>
  );
}
