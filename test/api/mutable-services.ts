import { afterEach } from "vitest";
import { type MutableService, startMutableService } from "./mutations.ts";

/** Starts services of a test file, each of which is closed after its test. */
export function createMutableServices() {
  const services: MutableService[] = [];
  afterEach(async () => {
    for (const { app } of services.splice(0)) await app.close();
  });
  return async (overrides: Parameters<typeof startMutableService>[0] = {}): Promise<MutableService> => {
    const service = await startMutableService(overrides);
    services.push(service);
    return service;
  };
}
