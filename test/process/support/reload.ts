import type { RunningService } from "./service.ts";
import { until } from "./until.ts";

const count = ({ lines }: RunningService, message: string): number =>
  lines().filter(({ msg }) => msg === message).length;

/** Sends SIGHUP and waits until the service has said what came of it. */
export async function reloadSettings(service: RunningService, message = "settings reloaded"): Promise<void> {
  const before = count(service, message);
  service.kill("SIGHUP");
  await until(message, () => count(service, message) > before || undefined);
}
