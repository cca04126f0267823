const checkMs = 500;

/** npm passes on only SIGINT and SIGTERM, and without a terminal the service would keep its port. */
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
