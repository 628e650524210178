/** What a replay of the recorded answers with the agent found: all equal, or the first difference. */

import type { SessionEvent } from "../../../src/public/events.ts";
import { client } from "../data/client.ts";
import { figure, plural } from "../data/words.ts";
import { Dialog } from "../parts/dialog.tsx";
import { JsonView } from "../parts/json-view.tsx";
import { moveIn } from "../shell/place.ts";

export interface Replayed {
  readonly events: number;
  readonly difference?: {
    readonly position: number;
    readonly sentence: string;
    readonly step?: number;
    readonly recorded?: SessionEvent;
    readonly replayed?: SessionEvent;
  };
}

export async function replaySession(session: string): Promise<Replayed> {
  return await client.http.json<Replayed>({
    method: "POST",
    path: `/api/studio/sessions/${encodeURIComponent(session)}/replay`,
  });
}

export function ReplayDialog({
  replayed: { events, difference },
  onClose,
}: {
  readonly replayed: Replayed;
  readonly onClose: () => void;
}) {
  if (difference === undefined)
    return (
      <Dialog title="Replay" onClose={onClose}>
        <p className="verdict good">✓ Equal: the agent repeats {plural(events, "event")}.</p>
        <p>The answers of models and tools came from the log. Nothing was recorded.</p>
      </Dialog>
    );
  const { position, sentence, step, recorded, replayed: made } = difference;
  return (
    <Dialog title="Replay" onClose={onClose} wide>
      <p className="verdict bad">✕ {sentence}</p>
      <p>
        {step === undefined ? "Before the first step" : `In step ${figure(step)}`}, after{" "}
        {plural(events, "equal event")}.{" "}
        <button
          type="button"
          className="link"
          onClick={() => {
            onClose();
            moveIn({ position, view: "events" });
          }}
        >
          Go to position {figure(position)}
        </button>
      </p>
      <Side title="The session was" event={recorded} />
      <Side title="The replay has" event={made} />
    </Dialog>
  );
}

function Side({
  title,
  event,
}: {
  readonly title: string;
  readonly event?: SessionEvent | undefined;
}) {
  return (
    <section>
      <h3>{title}</h3>
      {event === undefined ? (
        <p className="dim">nothing</p>
      ) : (
        <>
          <p>
            <b>{event.type}</b>
          </p>
          <JsonView value={event.data} openTo={2} />
        </>
      )}
    </section>
  );
}
