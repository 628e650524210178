/** Every way in which providers and gateways were seen to end a reply. */

import type { Answer } from "./fake-provider.ts";
import type { ReplyPart } from "./replies.ts";

const half: readonly ReplyPart[] = [{ text: ["Half of a ", "sentence that"] }];

/** Each as the answer to one request, by name; all but the first are no whole answer. */
export const endings = {
  "as it should": { parts: [{ text: ["A whole ", "sentence."] }] },
  "in order, without a reason to finish": { parts: half, ending: "cut" },
  "reset in the middle of a word": { parts: half, ending: "reset" },
  "an error in the stream": { parts: half, ending: "error" },
  "the reason error": { parts: half, finish: "error" },
  "a reason that nobody knows": { parts: half, finish: "insufficient_system_resource" },
  "nothing said": {},
  "200 with an error": {
    status: 200,
    body: { error: { code: 502, message: "Provider returned error" } },
  },
  "200 with a page": { status: 200, body: "<html><body>Bad gateway</body></html>" },
  "nothing any more": { parts: half, ending: "hang" },
} as const satisfies Readonly<Record<string, Answer>>;
