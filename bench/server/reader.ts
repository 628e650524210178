/** A client of server-sent events on plain `node:http`, so that a thousand of them cost little. */

import { Agent, get, IncomingMessage } from "node:http";
import { once } from "node:events";

const agent = new Agent({ maxSockets: Infinity });

export async function opened(url: string): Promise<IncomingMessage> {
  const response: readonly unknown[] = await once(get(url, { agent }), "response");
  const [answer] = response;
  if (!(answer instanceof IncomingMessage) || answer.statusCode !== 200)
    throw new Error(`${url} was not answered with a stream.`);
  return answer;
}

/** Milliseconds until a delta arrived. */
export interface Arrival {
  /** Since the model made it. */
  readonly sinceMade: number;
  /** Since the model's pace asked for it: a busy process makes it late. */
  readonly sinceDue: number;
}

/** Reads until the reply has ended. */
export async function read(answer: IncomingMessage): Promise<readonly Arrival[]> {
  const arrivals: Arrival[] = [];
  let rest = "";
  answer.setEncoding("utf8");
  for await (const piece of answer) {
    const blocks = `${rest}${piece}`.split("\n\n");
    rest = blocks.pop() ?? "";
    const now = Date.now();
    for (const block of blocks) {
      const [, due, made] = /"(\d{13}) (\d{13}) word /.exec(block) ?? [];
      if (made !== undefined)
        arrivals.push({ sinceMade: now - Number(made), sinceDue: now - Number(due) });
      if (!block.includes('"turn.ended"')) continue;
      answer.destroy();
      return arrivals;
    }
  }
  return arrivals;
}
