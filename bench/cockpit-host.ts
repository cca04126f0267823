import type { Page } from "playwright-core";
import { bootHost } from "../test/host/host.ts";
import type { BigJournal } from "./journals/million.ts";
import { freePort } from "./servers.ts";

/** Cockpit as Debian has it and our service in one test host, with the same journal. */
export interface CockpitHost {
  readonly cockpit: { readonly url: string; readonly version: string };
  readonly ours: { readonly url: string; readonly key: string };
  /** Signs in to Cockpit as a person does. */
  readonly signInToCockpit: (page: Page) => Promise<void>;
}

/** May read the journal and do nothing else. */
const user = { name: "reader", password: "a password of the test host" };
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
  journal: BigJournal,
  say: (text: string) => void,
  use: (host: CockpitHost) => Promise<T>,
): Promise<T> {
  const host = await bootHost({ log: say, bind: [{ source: journal.dir, target: bound, readOnly: true }] });
  const shell = async (line: string): Promise<string> =>
    (await host.exec(["sh", "-c", line], { timeoutMs: installTimeoutMs })).stdout.trim();
  try {
    const url = `http://127.0.0.1:${await freePort()}`;
    for (const [path, text] of Object.entries(settingsOf(Number(new URL(url).port)))) await host.writeFile(path, text);
    say("installing Cockpit in the test host");
    await shell(
      "apt-get -qq update && DEBIAN_FRONTEND=noninteractive apt-get -qq install --no-install-recommends cockpit",
    );
    const version = await shell(`dpkg-query --show --showformat='\${Version}' cockpit-ws`);
    await shell(`useradd --create-home --shell /bin/bash --groups systemd-journal ${user.name}`);
    await shell(`echo '${user.name}:${user.password}' | chpasswd`);
    say("copying the journal into the test host");
    await shell(addJournal);
    const service = await host.startService({ env: { STEWARD_RATE_LIMITS: "off" } });
    return await use({
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
