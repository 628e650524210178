/** A service for several companies: each session has its tenant, and each tenant a limit of spending. */

import { createRuntime, TurnlogError } from "turnlog";
import { scriptedModel } from "turnlog/testing";

await using runtime = await createRuntime({
  memory: true,
  agents: {
    support: { model: scriptedModel(() => "Have you tried to turn it off and on?") },
    sales: { model: scriptedModel(() => "It is ten percent off today. ".repeat(30)) },
  },
  limits: { perKey: { tenant: { tokens: 300, per: "day" } } },
});

/** One request of a user, whose tenant the service knows from the login. */
async function answer(tenant: string, id: string, agent: string, text: string): Promise<string> {
  // A session of another tenant is refused: its metadata differ.
  const session = await runtime.session(id, { agent, metadata: { tenant } });
  const { finishReason, text: reply } = await (await session.send(text)).result;
  return finishReason === "out-of-budget" ? "Your limit for today is reached." : reply.slice(0, 40);
}

console.log(await answer("acme", "acme-1", "support", "My screen is black."));
console.log(await answer("acme", "acme-2", "sales", "What does a screen cost?"));
console.log(await answer("acme", "acme-1", "support", "It is still black."));
console.log(await answer("bolt", "bolt-1", "support", "My lamp is broken."));
await answer("bolt", "acme-1", "support", "What did they ask?").catch((error: unknown) =>
  console.log(TurnlogError.isInstance(error) ? error.code : error),
);

for (const tenant of ["acme", "bolt"]) {
  const rows = await Array.fromAsync(runtime.sessions({ where: { tenant } }));
  console.log(tenant, rows.map(({ session }) => session).toSorted());
}
const { deleted } = await runtime.deleteSessions({ where: { tenant: "bolt" } });
console.log(`bolt left: ${deleted.length} session deleted`);
