/** Programs of newcomers that throw and catch nothing. */

interface UncaughtProgram {
  readonly code: string;
  readonly program: string;
  /** The part of the message that says what to do. */
  readonly next: string;
}

const runtime = `
  import { createRuntime, offlineModel } from "turnlog";
  const runtime = await createRuntime({ memory: true, agent: { model: offlineModel() } });
  const session = await runtime.session("s");`;

export const uncaughtPrograms: readonly UncaughtProgram[] = [
  {
    code: "INVALID_INPUT",
    program: `
      import { createRuntime, offlineModel } from "turnlog";
      await createRuntime({ memory: true, agent: { modell: offlineModel() } });`,
    next: "Did you mean `agent.model`?",
  },
  {
    code: "MESSAGE_CONFLICT",
    program: `${runtime}
      await session.send("One.", { id: "m-1" });
      await session.send("Two.", { id: "m-1" });`,
    next: "Send new content under a new id.",
  },
  {
    code: "LOG_LOCKED",
    program: `
      import { openLog } from "turnlog";
      await openLog({ dir: "locked" });
      await openLog({ dir: "locked" });`,
    next: "Close it there, or use another folder.",
  },
  {
    code: "TURN_FAILED",
    program: `
      import { createRuntime } from "turnlog";
      import { scriptedModel } from "turnlog/testing";
      const runtime = await createRuntime({ memory: true, agent: { model: scriptedModel([]) } });
      const session = await runtime.session("s");
      await (await session.send("Go.")).result;`,
    next: "Add a step, or end the turn earlier.",
  },
  {
    code: "SERVER_UNREACHABLE",
    program: `
      import { createClient } from "turnlog/client";
      await createClient({ baseUrl: "http://127.0.0.1:9" }).session("s").send("Hello.");`,
    next: "Check the address, and that the server is running.",
  },
];
