/** Three ways to read events: all that a log has, those of one turn, and all that come until you stop. */

import { createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const agent = { model: scriptedModel(() => "Good morning.") };
await using runtime = await createRuntime({ memory: true, agent });
const session = await runtime.session("greetings");

// A turn ends by itself.
for await (const { type, data } of await session.send("Hello.")) {
  if (type === "turn.ended") console.log(`The turn ended: ${data.reason}.`);
}

// `log.read` ends at the last stored event. It needs no agent: a log alone is enough.
const stored = await Array.fromAsync(runtime.log.read("greetings"));
console.log(`${stored.length} events, the last one is ${stored.at(-1)?.type}.`);

// `session.events` never ends. Stop it at an event with `break`, …
for await (const { type, position } of session.events({ from: 2 })) {
  if (type !== "message.queued") continue;
  console.log(`The message is at position ${position}.`);
  break;
}

// … or from outside.
const stop = new AbortController();
const following = Array.fromAsync(session.events({ signal: stop.signal }));
stop.abort();
await following;
console.log("The follower has stopped.");
