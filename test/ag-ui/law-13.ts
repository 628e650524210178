/** Law 13 for AG-UI: what the official client folds of the stream is what the session has, within each run. */

import { HttpAgent } from "@ag-ui/client";
import { expect, vi } from "vitest";
import {
  agUiEncoder,
  agUiMessages,
  agUiState,
  type AgUiEvent,
  type AgUiMessage,
} from "../../src/ag-ui/index.ts";
import type { SessionEvent } from "../../src/events/index.ts";
import { sessionSummary } from "../../src/projections/index.ts";
import { activeMessages, uiMessages, type Hidden } from "../../src/ui/index.ts";

/** What a page has. */
interface Shown {
  readonly messages: readonly AgUiMessage[];
  readonly state: object;
}

const probe = { type: "CUSTOM", name: "probe", value: null } as const;

/** What the official client has at each probe among events. A warning of the client is an error here. */
async function foldedByClient(events: readonly object[]): Promise<readonly Shown[]> {
  const body = events.map((event) => `data: ${JSON.stringify(event)}\n\n`).join("");
  const headers = { "content-type": "text/event-stream" };
  const agent = new HttpAgent({
    url: "http://localhost",
    fetch: () => Promise.resolve(new Response(body, { headers })),
  });
  const shown: Shown[] = [];
  const warn = vi.spyOn(console, "warn");
  await agent.runAgent(undefined, {
    onCustomEvent: ({ event, messages, state }) => {
      if (event.name === probe.name) shown.push(asJson({ messages, state }));
    },
  });
  expect(warn.mock.calls).toEqual([]);
  warn.mockRestore();
  return shown;
}

const isDelta = ({ type }: SessionEvent): boolean => type.endsWith("-delta");
const isEnd = ({ type }: AgUiEvent): boolean => type === "RUN_FINISHED" || type === "RUN_ERROR";

/** Compares at every structural event of each turn, and at some within each run of deltas. Returns how many. */
export async function expectLaw(
  events: readonly SessionEvent[],
  hide: readonly Hidden[] = [],
): Promise<number> {
  const options = { session: "s", hide };
  const encoder = agUiEncoder({
    ...options,
    run: { threadId: "t", runId: "r" },
    messages: [],
    held: [],
    appEvents: true,
  });
  const { initial, fold } = uiMessages(options);
  let [state, ui, summary] = [encoder.initial([]), initial, sessionSummary.initial];
  let deltas = 0;
  const sent: object[] = [];
  const expected: (() => object)[] = [];
  for (const event of events) {
    const encoded = encoder.encode(state, event);
    ({ state } = encoded);
    ui = fold(ui, event);
    summary = sessionSummary.fold(summary, event);
    deltas = isDelta(event) ? deltas + 1 : 0;
    const [now, then] = [ui, summary];
    const isChosen = deltas <= 10 || (deltas % 37 === 0 && deltas <= 370);
    const end = encoded.chunks.findIndex(isEnd);
    sent.push(...(end === -1 ? encoded.chunks : encoded.chunks.slice(0, end)));
    const isOpen = end !== -1 || (state.run !== "none" && state.run !== "ended");
    if (isOpen && isChosen && event.type !== "turn.started") {
      sent.push(probe);
      expected.push(() => ({
        messages: agUiMessages(activeMessages(now)),
        state: agUiState(then),
      }));
    }
    if (end === -1) continue;
    sent.push(...encoded.chunks.slice(end));
    // The next request says what its client has.
    state = { ...state, held: agUiMessages(activeMessages(now)) };
  }
  if (sent.length === 0) return 0;
  const folded = await foldedByClient(sent);
  expect(folded).toHaveLength(expected.length);
  for (const [index, one] of folded.entries())
    expect(meaning(one)).toEqual(meaning(asJson(expected[index]?.())));
  return folded.length;
}

/** The input of a call is the model's text while it is written, and then its JSON: both mean the same. */
function meaning({ messages, state }: Shown): object {
  const meant = messages.map((message) =>
    "toolCalls" in message ? { ...message, toolCalls: message.toolCalls?.map(meantBy) } : message,
  );
  return { messages: meant, state };
}

function meantBy({
  id,
  function: called,
}: {
  id: string;
  function: { arguments: string; name: string };
}): object {
  try {
    return { id, name: called.name, input: JSON.parse(called.arguments) as unknown };
  } catch {
    return { id, ...called };
  }
}

function asJson(value: unknown): Shown {
  return JSON.parse(JSON.stringify(value)) as Shown;
}
