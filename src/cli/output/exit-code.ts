/** The exit codes of the command line: what scripts go by. */

/** 0 done, 1 an error, 2 used wrongly, 130 interrupted by Ctrl-C, 143 ended by SIGTERM or SIGHUP. */
export type ExitCode = 0 | 1 | 2 | 130 | 143;

export const DONE: ExitCode = 0;
export const FAILED: ExitCode = 1;
export const USED_WRONGLY: ExitCode = 2;
export const INTERRUPTED: ExitCode = 130;
export const TERMINATED: ExitCode = 143;
