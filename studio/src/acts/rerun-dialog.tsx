/** Runs a turn again in a fork: as before, or with another model or other instructions. */

import { useState, type SubmitEvent } from "react";
import { client, messageOf } from "../data/client.ts";
import { refused } from "../data/give.ts";
import { figure } from "../data/words.ts";
import { Dialog } from "../parts/dialog.tsx";
import { goFrom } from "../shell/place.ts";
import type { Seen } from "../shell/seen.ts";

export function RerunDialog({
  seen: { feed, at, steps },
  onClose,
}: {
  readonly seen: Seen;
  readonly onClose: () => void;
}) {
  const [failure, setFailure] = useState<string>();
  const [isBusy, setBusy] = useState(false);
  const run = async (form: HTMLFormElement): Promise<void> => {
    const fields = new FormData(form);
    setBusy(true);
    try {
      const { session } = await client.http.json<{ readonly session: string }>({
        method: "POST",
        path: `/api/studio/sessions/${encodeURIComponent(feed.id)}/rerun`,
        body: {
          ...(at === undefined ? {} : { position: at }),
          ...filled(fields, "model"),
          ...filled(fields, "instructions"),
        },
      });
      onClose();
      goFrom(feed.id, { page: "session", session, view: "chat" });
    } catch (problem) {
      if (!form.isConnected) return refused(problem);
      setFailure(messageOf(problem));
      setBusy(false);
    }
  };
  const submit = (event: SubmitEvent<HTMLFormElement>): void => {
    event.preventDefault();
    void run(event.currentTarget);
  };
  return (
    <Dialog title="Rerun in a fork" onClose={onClose} wide>
      <form className="fields" onSubmit={submit}>
        <p>
          {at === undefined ? "The last turn" : `The turn at ${figure(at)}`} runs again in a new
          session. This session stays as it is.
        </p>
        <label>
          Model
          <input
            name="model"
            spellCheck={false}
            placeholder={`as before${steps.length === 0 ? "" : `, ${steps.at(-1)?.model}`}; or a model of the AI Gateway`}
          />
        </label>
        <label>
          Instructions
          <textarea name="instructions" rows={6} dir="auto" placeholder="as before" />
        </label>
        {failure !== undefined && (
          <p className="error" role="alert">
            {failure}
          </p>
        )}
        <div className="dialog-foot">
          <button type="submit" className="primary" disabled={isBusy}>
            Run
          </button>
        </div>
      </form>
    </Dialog>
  );
}

function filled(fields: FormData, name: string): Readonly<Record<string, string>> {
  const value = fields.get(name);
  return typeof value === "string" && value.trim() !== "" ? { [name]: value.trim() } : {};
}
