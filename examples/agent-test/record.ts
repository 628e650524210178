/** Records `talk.jsonl`: `node record.ts > talk.jsonl` in this folder. */

import { createRuntime, exportFixture } from "turnlog";
import { agent } from "./agent.ts";

await using runtime = await createRuntime({ memory: true, agent });
const session = await runtime.session("talk");
const turn = await session.send("Book me a train from Ulm to Bonn.");
await turn.untilRest();
for (const { approvalId } of (await session.view()).approvals) await session.approve(approvalId);
await turn.result;
console.log((await exportFixture(runtime.log, session.id)).join("\n"));
