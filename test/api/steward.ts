import { afterEach, beforeEach } from "vitest";
import { type CliRun, type CliSetting, runInProcess } from "./cli-run.ts";
import type { TestService } from "./harness.ts";

/** Starts a service for each test of the file on a port. @returns the command line, which asks it as its administrator by default. */
export function useSteward(start: () => Promise<TestService>) {
  let service: TestService;
  let url: string;
  beforeEach(async () => {
    service = await start();
    url = await service.app.listen({ host: "127.0.0.1", port: 0 });
  });
  afterEach(() => {
    service.service.cut();
    return service.app.close();
  });
  const steward = (line: string | readonly string[], { environment, ...setting }: CliSetting = {}): Promise<CliRun> =>
    runInProcess(typeof line === "string" ? line.split(" ") : line, {
      environment: { STEWARD_URL: url, STEWARD_API_KEY: service.admin, ...environment },
      now: service.clock.now,
      ...setting,
    });
  /** As a key with these scopes alone. */
  const withScopes = (...scopes: readonly string[]): CliSetting => ({
    environment: { STEWARD_API_KEY: service.key(scopes) },
  });
  return { steward, withScopes, url: () => url };
}
