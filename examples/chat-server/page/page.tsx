import { useChat, type UIMessage } from "@ai-sdk/react";
import { lastAssistantMessageIsCompleteWithApprovalResponses } from "ai";
import { useState, type ReactNode } from "react";
import { createRoot } from "react-dom/client";
import { chatTransport, createClient } from "turnlog/client";

const client = createClient({ baseUrl: "" });
const transport = chatTransport(client);

function Chat({ id, initial }: { readonly id: string; readonly initial: UIMessage[] }): ReactNode {
  const [text, setText] = useState("");
  const chat = useChat({
    id,
    messages: initial,
    transport,
    resume: true,
    sendAutomaticallyWhen: lastAssistantMessageIsCompleteWithApprovalResponses,
  });
  return (
    <main>
      {chat.messages.map((message) => (
        <p key={message.id} data-role={message.role}>
          {message.parts.map((part, index) => {
            if (part.type === "text") return <span key={index}>{part.text}</span>;
            if (!("state" in part) || part.state !== "approval-requested") return null;
            const answer = (approved: boolean) => () =>
              void chat.addToolApprovalResponse({ id: part.approval.id, approved });
            return (
              <span key={index}>
                {part.type.replace("tool-", "Run ")} {JSON.stringify(part.input)}?
                <button disabled={chat.status !== "ready"} onClick={answer(true)}>
                  Yes
                </button>
                <button disabled={chat.status !== "ready"} onClick={answer(false)}>
                  No
                </button>
              </span>
            );
          })}
        </p>
      ))}
      <form
        onSubmit={(event) => {
          event.preventDefault();
          void chat.sendMessage({ text });
          setText("");
        }}
      >
        <input
          aria-label="Message"
          value={text}
          onChange={(event) => setText(event.target.value)}
        />
        <button>Send</button>
      </form>
      {chat.status === "ready" ? null : (
        <button onClick={() => void transport.stop(id)}>Stop</button>
      )}
      {chat.error === undefined ? null : <p role="alert">{chat.error.message}</p>}
    </main>
  );
}

const id = new URLSearchParams(location.search).get("id") ?? "first";
const session = await client.createSession(id);
const { messages } = await session.messages();
const root = document.body.appendChild(document.createElement("div"));
createRoot(root).render(<Chat id={id} initial={messages} />);
