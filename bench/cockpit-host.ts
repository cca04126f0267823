import type { Page } from "playwright-core";
import { bootHost, type Host } from "../test/host/host.ts";
import type { BigJournal } from "./journals/million.ts";
import { freePort } from "./servers.ts";

/** Cockpit as Debian has it and our service in one test host. */
export interface CockpitHost {
  readonly host: Host;
  readonly cockpit: { readonly url: string; readonly version: string };
  readonly ours: { readonly url: string; readonly key: string };
  /** Signs in to Cockpit as a person does. */
  readonly signInToCockpit: (page: Page) => Promise<void>;
}

export interface CockpitOptions {
  /** Becomes the one of the host. */
  readonly journal?: BigJournal;
  /** Packages of Debian besides Cockpit. */
  readonly packages?: readonly string[];
  /** Groups of anyone who signs in to Cockpit. */
  readonly groups: readonly string[];
  /** Settings of our service. */
  readonly config?: string;
  /** Done before our service starts. */
  readonly prepare?: (host: Host) => Promise<void>;
}

export const user = { name: "somebody", password: "a password of the test host" };
const bound = "/srv/journal";
const installTimeoutMs = 600_000;

/** In the network of this machine it listens on loopback alone. */
const settingsOf = (port: number): Readonly<Record<string, string>> => ({
  "/etc/systemd/system/cockpit.socket.d/50-bench.conf": `[Socket]\nListenStream=\nListenStream=127.0.0.1:${port}\n`,
  "/etc/cockpit/cockpit.conf": "[WebService]\nAllowUnencrypted=true\n",
  // The files that are added below are not to be removed for their size.
  "/etc/systemd/journald.conf.d/50-bench.conf": "[Journal]\nSystemMaxUse=4G\n",
});

/** The entries become those of the host itself: files that its journald has archived. */
const addJournal = `set -e
systemctl restart systemd-journald
to=/var/log/journal/$(cat /etc/machine-id)
cp ${bound}/system@*.journal "$to"
cp ${bound}/system.journal "$to/system@${"0".repeat(32)}-${"f".repeat(16)}-${"f".repeat(16)}.journal"
chgrp systemd-journal "$to"/*.journal
logger --priority user.err the newest entry of the host
journalctl --sync`;

/** Boots the test host, installs Cockpit from the machine's mirror, and stops it all when `use` is over. */
export async function withCockpitHost<T>(
  options: CockpitOptions,
  say: (text: string) => void,
  use: (host: CockpitHost) => Promise<T>,
): Promise<T> {
  const { journal, packages = [], groups, config = "", prepare } = options;
  const bind = journal === undefined ? [] : [{ source: journal.dir, target: bound, readOnly: true }];
  const host = await bootHost({ log: say, bind });
  const shell = async (line: string): Promise<string> =>
    (await host.exec(["sh", "-c", line], { timeoutMs: installTimeoutMs })).stdout.trim();
  try {
    const url = `http://127.0.0.1:${await freePort()}`;
    for (const [path, text] of Object.entries(settingsOf(Number(new URL(url).port)))) await host.writeFile(path, text);
    say("installing Cockpit in the test host");
    // What comes along does not start, and listens nowhere.
    await host.writeFile("/usr/sbin/policy-rc.d", "#!/bin/sh\nexit 101\n", 0o755);
    await shell(
      "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends " +
        ["cockpit", ...packages].join(" "),
    );
    const version = await shell(`dpkg-query --show --showformat='\${Version}' cockpit-ws`);
    await shell(`useradd --create-home --shell /bin/bash --groups ${groups.join()} ${user.name}`);
    await shell(`echo '${user.name}:${user.password}' | chpasswd`);
    if (journal !== undefined) {
      say("copying the journal into the test host");
      await shell(addJournal);
    }
    await shell("rm /usr/sbin/policy-rc.d; systemctl start cockpit.socket");
    await prepare?.(host);
    const service = await host.startService({ env: { STEWARD_RATE_LIMITS: "off" }, config });
    return await use({
      host,
      cockpit: { url, version },
      ours: { url: service.url, key: service.adminKey },
      async signInToCockpit(page) {
        await page.goto(url);
        await page.locator("#login-user-input").fill(user.name);
        await page.locator("#login-password-input").fill(user.password);
        await page.locator("#login-button").click();
        await page.locator("iframe[name='cockpit1:localhost/system']").waitFor();
      },
    });
  } finally {
    await host.stop();
  }
}
