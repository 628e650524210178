/** The machine, as it is named beside every figure. */

import { cpus, totalmem } from "node:os";

export function machineName(): string {
  const cores = cpus();
  const memory = (totalmem() / 1024 ** 3).toFixed(0);
  return `${cores.length} × ${cores[0]?.model ?? "unknown CPU"}, ${memory} GB, ${process.platform}, Node ${process.version}`;
}
