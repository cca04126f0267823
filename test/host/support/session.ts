import { afterAll, beforeAll, describe } from "vitest";
import type { Client } from "#client/index.ts";
import { createClient } from "#client/index.ts";
import { errorMessage } from "#kernel/errors.ts";
import type { Host, HostOptions } from "../host.ts";
import { bootHost } from "../host.ts";
import { ensureImage } from "../image.ts";
import type { Suite } from "../recipe.ts";
import { requireHost } from "../requirements.ts";
import type { RunningService, ServiceOptions } from "../service.ts";

/** A booted host with the service running in it, shared by the tests of one file. */
export interface Session {
  readonly host: Host;
  readonly service: RunningService;
  /** A client of the service with the admin key. */
  readonly api: Client;
  /** Writes unit files and lets systemd read them. */
  readonly writeUnits: (units: Readonly<Record<string, readonly string[]>>) => Promise<void>;
  /** Runs a line of shell inside and returns what it printed. */
  readonly shell: (line: string) => Promise<string>;
}

/**
 * Builds the image of a Debian that the other tests do not run on.
 * @returns why there is none; in CI that is an error.
 */
export async function missingImage(suite: Suite): Promise<string | undefined> {
  const required = requireHost();
  if (!required.available) return required.reason;
  try {
    await ensureImage(suite, (line) => void process.stdout.write(`${line}\n`));
    return undefined;
  } catch (error) {
    if (process.env["CI"] === "true") throw error;
    return errorMessage(error);
  }
}

/** What a suite wants of its host, and of the service in it. */
export interface SessionOptions
  extends Pick<HostOptions, "suite" | "fileSystem" | "privateNetwork">,
    Pick<ServiceOptions, "config" | "checks" | "user"> {
  /** Why the host cannot be had, as {@link missingImage} says. */
  readonly missing?: string | undefined;
}

type SuiteOnHost = (session: Session) => void;

/** A suite on a host of its own. Where no host can run, it is skipped and says why; in CI it fails instead. */
export function describeOnHost(name: string, suite: SuiteOnHost): void;
export function describeOnHost(name: string, options: SessionOptions, suite: SuiteOnHost): void;
export function describeOnHost(
  name: string,
  ...rest: readonly [SuiteOnHost] | readonly [SessionOptions, SuiteOnHost]
): void {
  const [options, suite]: readonly [SessionOptions, SuiteOnHost] = rest.length === 1 ? [{}, rest[0]] : rest;
  const { missing, ...wanted } = options;
  const required = requireHost();
  const reason = required.available ? missing : required.reason;
  if (reason !== undefined) process.stdout.write(`skipped: ${name}: ${reason}\n`);
  describe.skipIf(reason !== undefined)(name, () => {
    let booted: Host | undefined;
    let started: RunningService | undefined;

    const host = (): Host => {
      if (booted === undefined) throw new Error("the host has not been booted");
      return booted;
    };
    const service = (): RunningService => {
      if (started === undefined) throw new Error("the service has not been started");
      return started;
    };

    beforeAll(async () => {
      const { config, checks, user, ...hostOptions } = wanted;
      booted = await bootHost(hostOptions);
      started = await booted.startService({
        env: { STEWARD_RATE_LIMITS: "off" },
        ...(config && { config }),
        ...(checks && { checks }),
        ...(user && { user }),
      });
    });
    afterAll(() => booted?.stop());

    suite({
      get host() {
        return host();
      },
      get service() {
        return service();
      },
      get api() {
        return createClient({ url: service().url, key: service().adminKey });
      },
      async writeUnits(units) {
        for (const [unit, lines] of Object.entries(units)) {
          await host().writeFile(`/etc/systemd/system/${unit}`, `${lines.join("\n")}\n`);
        }
        await host().exec(["systemctl", "daemon-reload"]);
      },
      async shell(line) {
        return (await host().exec(["sh", "-c", line])).stdout;
      },
    });
  });
}
