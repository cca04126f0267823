const checkMs = 500;

/**
 * Ends this process, as SIGTERM would, when the process that started it is gone. `npm` passes SIGINT and SIGTERM on and no other
 * signal: what it started would go on without a terminal, and hold its port. The scripts of package.json name npm in the environment.
 */
export function endWithStarter(environment: NodeJS.ProcessEnv = process.env): void {
  const starter = environment["STEWARD_STARTED_BY"];
  delete environment["STEWARD_STARTED_BY"];
  if (starter === undefined) return;
  const timer = setInterval(() => {
    if (String(process.ppid) === starter) return;
    clearInterval(timer);
    process.kill(process.pid, "SIGTERM");
  }, checkMs);
  timer.unref();
}
