/** What a verification found. */

import { figure, plural } from "../data/words.ts";
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
  const { problems, events, prompts } = verification;
  return (
    <Dialog title="Verification" onClose={onClose}>
      {problems.length === 0 ? (
        <p className="verdict good">✓ {plural(events, "event")} checked, no problem found.</p>
      ) : (
        <>
          <p className="verdict bad">✕ {plural(problems.length, "problem")}</p>
          <ul className="plain">
            {problems.map((problem, index) => (
              <li key={index}>
                <JsonView value={problem} />
              </li>
            ))}
          </ul>
        </>
      )}
      {prompts !== undefined && (
        <p>
          {prompts === 1
            ? "The prompt of its step was made again, and compared with the digest of what was sent."
            : `The prompts of its ${figure(prompts)} steps were made again, and compared with the digests of what was sent.`}
        </p>
      )}
    </Dialog>
  );
}
