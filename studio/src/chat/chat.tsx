/** The conversation at the position that is seen: one branch, the newest messages first shown. */

import { memo, useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from "react";
import { useSelector } from "@xstate/store-react";
import { readUIMessages } from "../../../src/public/ui.ts";
import { client } from "../data/client.ts";
import { give } from "../data/give.ts";
import { plural } from "../data/words.ts";
import { Blank, Loading } from "../parts/loading.tsx";
import { go } from "../shell/place.ts";
import type { Seen } from "../shell/seen.ts";
import { Composer, useRefusal } from "./composer.tsx";
import { Message, type MessageActs } from "./message.tsx";
import { leafOf, threadOf, type ThreadMessage } from "./thread.ts";
import type { UIMessagesState } from "../../../src/ui/index.ts";

/** More come until the view is full, and when one scrolls up to them. */
const FIRST_SHOWN = 4;
const MORE_SHOWN = 12;

function useMessages({ feed, at, isWhole }: Seen): UIMessagesState {
  const live = useSelector(feed.store, ({ context }) => context.messages);
  return useMemo(
    () => (at === undefined ? live : feed.messagesAt(at)),
    // The past does not change with the live end.
    [feed, at, isWhole, at === undefined ? live : undefined],
  );
}

export const Chat = memo(function Chat({ seen }: { readonly seen: Seen }) {
  const { feed, at } = seen;
  const state = useMessages(seen);
  const messages = useMemo(() => readUIMessages(state), [state]);
  const [leaf, setLeaf] = useState<string>();
  const refusal = useRefusal(seen);
  const all = useRef(messages);
  all.current = messages;
  // A branch that is looked at is left when the session continues or the time changes.
  useEffect(() => setLeaf(undefined), [messages.headId, at]);
  const known = messages.messages.some(({ message }) => message.id === leaf) ? leaf : undefined;
  const shown = known ?? messages.headId;
  const thread = useMemo(() => threadOf(messages, shown), [messages, shown]);
  const onBranch = useCallback((id: string) => setLeaf(leafOf(all.current, id)), []);
  const onEdit = useCallback(
    async (replaces: string, text: string) => {
      await client.session(feed.id).send(text, { replaces });
    },
    [feed],
  );
  const acts = useMemo<MessageActs>(
    () => ({ refusal, onEdit, onBranch }),
    [refusal, onEdit, onBranch],
  );
  const isLeft = known !== undefined && known !== messages.headId;
  return (
    <div className="chat">
      {isLeft && <LeftBranch seen={seen} thread={thread} onBack={() => setLeaf(undefined)} />}
      {seen.isWhole || at === undefined ? (
        <Thread
          thread={thread}
          failures={feed.failures}
          acts={acts}
          follows={at === undefined && !isLeft}
          isWhole={seen.isWhole}
        />
      ) : (
        <Loading words="Reading the events up to here…" />
      )}
      <Composer seen={seen} />
    </div>
  );
});

const Thread = memo(function Thread({
  thread,
  failures,
  acts,
  follows,
  isWhole,
}: {
  readonly thread: readonly ThreadMessage[];
  readonly failures: ReadonlyMap<number, string>;
  readonly acts: MessageActs;
  readonly follows: boolean;
  readonly isWhole: boolean;
}) {
  const [shown, setShown] = useState(FIRST_SHOWN);
  const scroller = useRef<HTMLDivElement>(null);
  const isAtEnd = useRef(true);
  // The list is laid out from its end (`column-reverse`), so the browser itself keeps the end in sight.
  useLayoutEffect(() => {
    if (!follows && !isAtEnd.current && scroller.current !== null) scroller.current.scrollTop = 0;
  }, [thread, follows]);
  const left = Math.max(0, thread.length - shown);
  useLayoutEffect(() => {
    const { scrollHeight = 0, clientHeight = 0 } = scroller.current ?? {};
    if (left > 0 && scrollHeight < clientHeight * 1.5) setShown(shown + FIRST_SHOWN);
  }, [thread, left, shown]);
  return (
    <div
      ref={scroller}
      className="thread"
      role="log"
      aria-label="Messages"
      tabIndex={0}
      onScroll={({ currentTarget: { scrollTop, scrollHeight, clientHeight } }) => {
        isAtEnd.current = scrollTop > -2;
        const above = scrollHeight - clientHeight + scrollTop;
        if (left > 0 && above < clientHeight) setShown(shown + MORE_SHOWN);
      }}
    >
      <div className="thread-messages">
        {!isWhole && <Loading words="Reading earlier messages…" />}
        {isWhole && thread.length === 0 && <Blank title="No messages yet" />}
        {left > 0 && (
          <button type="button" className="link more" onClick={() => setShown(shown + MORE_SHOWN)}>
            {plural(left, "earlier message")}
          </button>
        )}
        {thread.slice(left).map(({ message, siblings }) => (
          <Message
            key={message.id}
            message={message}
            siblings={siblings}
            acts={acts}
            failure={failures.get(message.metadata?.endPosition ?? 0)}
          />
        ))}
      </div>
    </div>
  );
});

/** What a person sees who looks at a branch that the session has left. */
function LeftBranch({
  seen: { feed, state },
  thread,
  onBack,
}: {
  readonly seen: Seen;
  readonly thread: readonly ThreadMessage[];
  readonly onBack: () => void;
}) {
  const { position = 0 } = thread.at(-1)?.message.metadata ?? {};
  const branch = state?.branches.findLast(({ id, head }) => id <= position && position <= head);
  const active = state?.branches.find((one) => one.active);
  const canRun = useRefusal({ at: undefined }) === undefined;
  return (
    <div className="banner calm" role="status">
      You see a branch that the session has left.
      <button type="button" className="link" onClick={onBack}>
        Back to the active one
      </button>
      {branch !== undefined && active !== undefined && (
        <button
          type="button"
          className="link"
          onClick={() =>
            go({
              page: "compare",
              left: feed.id,
              leftBranch: branch.id,
              right: feed.id,
              rightBranch: active.id,
            })
          }
        >
          Compare with the active one
        </button>
      )}
      {branch !== undefined && canRun && (
        <button
          type="button"
          className="link"
          onClick={() => void give(() => client.session(feed.id).checkout(branch.id))}
        >
          Make it the active branch
        </button>
      )}
    </div>
  );
}
