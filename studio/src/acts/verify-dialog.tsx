/** What a verification found. */

import { figure } from "../data/words.ts";
import { Dialog } from "../parts/dialog.tsx";
import { JsonView } from "../parts/json-view.tsx";

export interface Verification {
  readonly events: number;
  readonly prompts?: number;
  readonly problems: readonly {
    readonly rule: string;
    readonly message: string;
    readonly position?: number;
  }[];
}

export function VerifyDialog({
  verification,
  onClose,
}: {
  readonly verification: Verification;
  readonly onClose: () => void;
}) {
  const { problems, ...figures } = verification;
  return (
    <Dialog title="Verification" onClose={onClose}>
      {problems.length === 0 ? (
        <p className="verdict good">
          ✓ {figure(verification.events)} events checked, no problem found.
        </p>
      ) : (
        <>
          <p className="verdict bad">✕ {problems.length} problems</p>
          <ul className="plain">
            {problems.map((problem, index) => (
              <li key={index}>
                <JsonView value={problem} />
              </li>
            ))}
          </ul>
        </>
      )}
      <JsonView value={figures} openTo={1} />
    </Dialog>
  );
}
