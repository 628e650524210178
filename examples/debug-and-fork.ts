/** What did the model see, where did it go wrong, and what would another one have said? */

import { createRuntime } from "turnlog";
import { scriptedModel } from "turnlog/testing";

const agent = { model: scriptedModel(["Ulm is on the Danube.", "Ulm is on the Rhine."]) };
await using runtime = await createRuntime({ memory: true, agent });
const session = await runtime.session("rivers");
for (const question of ["Where is Ulm?", "Are you sure?"]) {
  const turn = await session.send(question);
  await turn.result;
}

// Find the place: the second answer was wrong.
const events = await Array.fromAsync(runtime.log.read("rivers"));
const asked = events.findLast(({ type }) => type === "step.started");
const { prompt } = await session.at(asked?.position ?? 1);
console.log(prompt.messages.map(({ role }) => role).join(", "));

// Run that turn again in a fork, with another model. The session itself stays as it is.
const model = scriptedModel(["Yes: on the Danube."]);
const { session: fork, turn, position } = await session.rerun({ id: "rivers-2", model });
console.log((await turn.result).text);
console.log(`${fork.id} shares ${position} events with ${session.id}.`);

// Or fork without running anything, and ask something else there.
const elsewhere = await session.fork({ id: "rivers-3", position, model: scriptedModel(["Bonn."]) });
console.log((await (await elsewhere.send("And what is on the Rhine?")).result).text);
console.log((await Array.fromAsync(runtime.sessions())).map((row) => row.session).toSorted());
