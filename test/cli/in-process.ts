/** Runs a command in the process of the test: the sources are loaded once, and not for each command. */
import { AsyncLocalStorage } from "node:async_hooks";
import { PassThrough } from "node:stream";
import { recordedOutput, type RecordedOutput } from "./recorded-output.ts";

export interface InProcessOptions {
  readonly cwd: string;
  readonly env: NodeJS.ProcessEnv;
  /** What comes through the pipe; without it stdin is empty. */
  readonly input?: string;
  /** Default: pipes. */
  readonly output?: RecordedOutput | undefined;
}

interface EndedInProcess {
  readonly code: number;
  readonly signal: null;
  readonly stdout: string;
  readonly stderr: string;
}

/** Which command writes. Other tests share this process, and a warning of theirs is none of a command's words. */
const command = new AsyncLocalStorage<RecordedOutput>();

/** The folder, the environment and the input are the process's own: one command at a time. */
let last: Promise<unknown> = Promise.resolve();

export async function runInProcess(
  args: readonly string[],
  options: InProcessOptions,
): Promise<EndedInProcess> {
  const ended = last.then(() => runAlone(args, options));
  last = ended.catch(() => {});
  return await ended;
}

async function runAlone(
  args: readonly string[],
  { cwd, env, input = "", output = recordedOutput(false, true) }: InProcessOptions,
): Promise<EndedInProcess> {
  const { run } = await import("../../src/cli/program.ts");
  const [outside, environment] = [process.cwd(), process.env];
  const stdin = Object.getOwnPropertyDescriptor(process, "stdin");
  // Commander writes to them by itself.
  const restore = [
    intercept(process.stdout, output, (text) => (output.written.data += text)),
    intercept(process.stderr, output, (text) => (output.written.progress += text)),
  ];
  process.chdir(cwd);
  process.env = env;
  Object.defineProperty(process, "stdin", {
    value: new PassThrough().end(input),
    configurable: true,
  });
  try {
    const code = await command.run(output, () => run(args, output));
    return { code, signal: null, stdout: output.written.data, stderr: output.written.progress };
  } finally {
    for (const one of restore) one();
    process.chdir(outside);
    process.env = environment;
    if (stdin !== undefined) Object.defineProperty(process, "stdin", stdin);
  }
}

/** Takes what a command writes to a stream, until it is called off. */
function intercept(
  stream: NodeJS.WriteStream,
  output: RecordedOutput,
  take: (text: string) => void,
): () => void {
  const write = Object.getOwnPropertyDescriptor(stream, "write");
  const passOn = stream.write.bind(stream);
  stream.write = (chunk: string | Uint8Array): boolean => {
    if (command.getStore() !== output) return passOn(chunk);
    take(chunk.toString());
    return true;
  };
  return () => {
    if (write === undefined) Reflect.deleteProperty(stream, "write");
    else Object.defineProperty(stream, "write", write);
  };
}
