import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { OperationEntry } from "#contract/operation-entry.ts";
import type { Sbom } from "../../scripts/package/sbom.ts";
import { bootHost, type Host } from "./host.ts";
import { requireHost } from "./requirements.ts";
import { ensureDeb } from "./support/deb.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, type FileTree, fileTree } from "./support/file-tree.ts";
import { at, makePackageSources, packageFile } from "./support/package-sources.ts";

const oldVersion = "0.1.0";
const newVersion = "0.2.0";
const packages = "/srv/steward-debs";
const neighbour = "neighbour";
const hostAddress = "10.77.0.1";
const key = "/var/lib/steward/admin.key";

/** What Debian's tools keep of any package that was there, and what a running host writes by itself. */
const kept = [
  // The user of the service stays, as those of all packages: what it owned must not become another's.
  /^\/etc\/(passwd|group|shadow|gshadow|subuid|subgid)-?$/,
  /^\/etc\/\.pwd\.lock$/,
  /^\/var\/lib\/(dpkg|apt|systemd\/(deb-systemd-helper|timers|random-seed|catalog))(\/|-|$)/,
  /^\/var\/(log|cache\/(apt|debconf|man|ldconfig))(\/|$)/,
  /^\/etc\/(ld\.so\.cache|machine-id|resolv\.conf|mtab|apt\/.*)$/,
  /^\/(tmp|srv|root|var\/tmp)(\/|$)/,
  /^\/var\/lib\/(snapper|logrotate|dbus|polkit-1|prometheus)(\/|$)/,
  /^\/usr\/share\/other(\/|$)/,
];

const required = requireHost();
if (!required.available) process.stdout.write(`skipped: the package: ${required.reason}\n`);

describe.skipIf(!required.available)("the Debian package", () => {
  let booted: Host | undefined;
  let before: FileTree = new Map();
  const host = (): Host => {
    if (booted === undefined) throw new Error("the host has not been booted");
    return booted;
  };
  const session = {
    get host() {
      return host();
    },
  };
  const shell = async (line: string): Promise<string> =>
    (await host().exec(["sh", "-c", line], { timeoutMs: 120_000 })).stdout;
  const apt = (words: string): Promise<string> =>
    shell(`DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes ${words} 2>&1`);
  const state = async (property: string, unit = "steward.service"): Promise<string> =>
    (await shell(`systemctl show --property ${property} --value ${unit}`)).trim();

  /** Asks the service from inside, over whatever it listens on. */
  async function ask<T>(path: string, options = ""): Promise<T> {
    const auth = `-H "X-API-Key: $(cat ${key})"`;
    const text = await shell(
      `curl --silent --show-error --cacert /var/lib/steward/tls-cert.pem ${auth} ${options} https://127.0.0.1:8470/api/v1${path}`,
    );
    const answer = JSON.parse(text) as T;
    // An operation that failed has an error, too, and is what was asked for.
    if (typeof answer === "object" && answer !== null && "error" in answer && !("id" in answer)) throw new Error(text);
    return answer;
  }
  const post = <T>(path: string, body: unknown, headers = ""): Promise<T> =>
    ask<T>(path, `-X POST ${headers} -H 'Content-Type: application/json' -d '${JSON.stringify(body)}'`);

  /** Waits for the end of an operation, also over a restart of the service. */
  const ended = (id: string): Promise<OperationEntry> =>
    eventually(
      async () => {
        const entry = await ask<OperationEntry>(`/operations/${id}`);
        if (entry.status === "queued" || entry.status === "running") throw new Error(`${id} is ${entry.status}`);
        return entry;
        // Each question is two processes inside, which the package manager would wait for.
      },
      120_000,
      500,
    );

  beforeAll(async () => {
    const directories = await Promise.all([oldVersion, newVersion].map(ensureDeb));
    const binds = directories.map((source, index) => ({ source, target: `${packages}/${index}`, readOnly: true }));
    booted = await bootHost({ privateNetwork: true, bind: binds });
    // The image has it for services of the checkout.
    await shell("rmdir /etc/steward");
    // Made by logind when the first user lingers.
    await shell("mkdir -p /var/lib/systemd/linger");
    before = await fileTree(session);
  });
  afterAll(() => booted?.stop());

  it("is installed with one command, and runs as a user without rights", async () => {
    // apt gives dpkg a terminal of its own.
    const printed = (await apt(`install ${packages}/0/steward_${oldVersion}_*.deb`)).replaceAll("\r", "");
    expect(await state("ActiveState")).toBe("active");
    // What apt prints last is what to do next, and it works.
    const steps =
      /^Steward listens on (\S+) \(.*\n.* is in (\S+)\.\nNext, as root:\n {2}(.+)\n {2}(.+?) {3}\(.* (\S+) for a browser/m.exec(
        printed,
      );
    const [, address = "", path = "", line = "", opening = "", page = ""] = steps ?? [];
    expect([address, path]).toEqual(["http://127.0.0.1:8470", key]);
    expect(await shell(`${line}; test $? -lt 2`)).toContain(`version ${oldVersion}`);
    expect(await shell(`curl -s -H "X-API-Key: $(cat ${path})" ${address}/api/v1/health`)).toContain('"status"');
    expect(await shell(opening)).toMatch(new RegExp(`^${page}#code=\\S+\n$`));
    expect(await shell(`curl -s ${page}`)).toContain("<html");
    expect(await shell("systemctl is-enabled steward")).toBe("enabled\n");
    expect(await shell("steward --version")).toBe(`${oldVersion}\n`);
    expect(await state("User")).toBe("steward");
    const pid = await state("MainPID");
    expect(await shell(`grep -E '^Cap(Prm|Eff|Bnd|Amb)' /proc/${pid}/status | tr -s '\\t' ' '`)).toBe(
      ["CapPrm", "CapEff", "CapBnd", "CapAmb"].map((name) => `${name}: 0000000000000000\n`).join(""),
    );
    const score = /→ Overall exposure level for steward\.service: ([\d.]+)/.exec(
      await shell("systemd-analyze security --no-pager steward.service"),
    )?.[1];
    process.stdout.write(`systemd-analyze security steward.service: exposure ${score}\n`);
    expect(Number(score)).toBeLessThan(2);
    expect(await shell("steward config check")).toContain("/etc/steward/config.yaml");
    // What root runs is nobody's to change but root's.
    expect(
      await shell(
        "find -L /usr/lib/steward /var/cache/steward-code /usr/bin/steward /etc/steward ! -user root -o -perm /022",
      ),
    ).toBe("");
  });

  it("has its documents: man pages, completion, licences, and a list of what it is made of", async () => {
    const manual = async (section: number, page: string): Promise<string> =>
      shell(`zcat /usr/share/man/man${section}/${page}.${section}.gz`);
    expect(await manual(1, "steward")).toContain(".SH");
    expect(await manual(5, "steward-config")).toContain("rate_limits.per_minute");
    expect(await manual(8, "steward.service")).toContain("/var/lib/steward");
    expect(
      await shell(
        "bash -n /usr/share/bash-completion/completions/steward; wc -c < /usr/share/zsh/vendor-completions/_steward",
      ),
    ).not.toBe("0\n");
    const sbom = JSON.parse(await shell("cat /usr/share/doc/steward/sbom.json")) as Sbom;
    expect(sbom).toMatchObject({
      bomFormat: "CycloneDX",
      metadata: { component: { name: "steward", version: oldVersion } },
    });
    const licences = await shell("zcat /usr/share/doc/steward/THIRD-PARTY.gz");
    const named = sbom.components.map(({ name, version }) => `${name} ${version}`);
    expect(named).toContain(`node-linux-${process.arch} ${process.versions.node}`);
    expect(named.filter((each) => !licences.includes(`\n${each}\n`))).toEqual([]);
    expect(await shell("dpkg --verify steward")).toBe("");
  });

  it("is called over TLS from another network namespace", async () => {
    await shell(
      [
        `printf 'listen: 0.0.0.0:8470\\ntls: auto\\nrate_limits: off\\nupdates: { guard_minutes: 0.4 }\\n' > /etc/steward/config.yaml`,
        "steward config check && systemctl restart steward",
        `ip netns add ${neighbour}`,
        `ip link add to-${neighbour} type veth peer name up0 netns ${neighbour}`,
        `ip address add ${hostAddress}/24 dev to-${neighbour} && ip link set to-${neighbour} up`,
        `ip -n ${neighbour} address add 10.77.0.2/24 dev up0 && ip -n ${neighbour} link set up0 up`,
      ].join(" && "),
    );
    const away = `ip netns exec ${neighbour} curl --silent --show-error --cacert /var/lib/steward/tls-cert.pem --connect-to steward-testhost:8470:${hostAddress}:8470`;
    const base = "https://steward-testhost:8470/api/v1";
    expect(await shell(`${away} -H "X-API-Key: $(cat ${key})" ${base}/health`)).toContain('"status"');
    expect(await shell(`${away} -o /dev/null -w '%{http_code}' ${base}/system/info`)).toBe("401");
    // Without trust in its certificate there is no connection.
    expect(
      await shell(`ip netns exec ${neighbour} curl --silent -o /dev/null https://${hostAddress}:8470/livez; echo $?`),
    ).toBe("60\n");
  });

  it("finds everything that it reads beside itself", async () => {
    const reference = await shell(
      "for file in '' /swagger-ui.css /swagger-ui-bundle.js; do curl -sk -o /dev/null -w '%{http_code} ' https://127.0.0.1:8470/api/v1/docs$file; done",
    );
    expect(reference).toBe("200 200 200 ");
    // The journal is read by a thread of its own, traces by another.
    await shell("logger --tag from-the-test hello");
    const logs = await eventually(() => ask<{ total: number }>("/system/logs?grep=hello&identifier=from-the-test"));
    expect(logs.total).toBeGreaterThan(0);
    expect(await ask("/traces?limit=1")).toHaveProperty("traces");
    await shell("steward observability init /tmp/stack");
    expect(await shell("ls /tmp/stack/prometheus")).toContain("prometheus.yml");
    expect(await shell("steward check disk_space")).toContain("disk_space");
  });

  it("updates packages and rolls back, and runs after a reboot, with its keys", async () => {
    await shell(`mkdir -p /srv/packages/main && cp ${packages}/1/steward_${newVersion}_*.deb /srv/packages/main/`);
    await makePackageSources({ ...session, shell }, [at("other", "1.0"), at("other", "1.1")]);
    await shell(`dpkg -i ${packageFile(at("other", "1.0"))}`);
    const { id } = await post<{ id: string }>("/updates/apply", { packages: ["other"] }, "-H 'Prefer: respond-async'");
    const update = await ended(id);
    expect(update).toMatchObject({ status: "done", result: { success: true, packages_updated: 1 } });
    expect(await shell("cat /usr/share/other/version")).toBe("1.1\n");
    const { snapshot_id } = update.result as { snapshot_id: string };
    const back = await post<{ id: string }>(`/updates/rollback/${snapshot_id}`, {}, "-H 'Prefer: respond-async'");
    expect(await ended(back.id)).toMatchObject({ status: "done", result: { success: true, requires_reboot: false } });
    expect(await shell("cat /usr/share/other/version")).toBe("1.0\n");
    const made = await post<{ key: string }>("/auth/keys", { name: "made meanwhile", scopes: ["system:read"] });

    await host().reboot();

    await eventually(async () => expect(await state("ActiveState")).toBe("active"), 30_000);
    const info = await shell(
      `curl -s --cacert /var/lib/steward/tls-cert.pem -H 'X-API-Key: ${made.key}' https://127.0.0.1:8470/api/v1/system/info`,
    );
    expect(JSON.parse(info)).toHaveProperty("hostname");
  });

  it("updates itself, and the operation runs to completion", async () => {
    const pid = await state("MainPID");
    const { id } = await post<{ id: string }>(
      "/updates/apply",
      { packages: ["steward"], guard: true },
      "-H 'Prefer: respond-async'",
    );
    const operation = await ended(id);
    expect(operation).toMatchObject({
      status: "done",
      result: { success: true, packages: [{ name: "steward", from: oldVersion, to: newVersion }] },
    });
    expect(await state("MainPID")).not.toBe(pid);
    expect(await shell("steward --version")).toBe(`${newVersion}\n`);
    expect(await ask("/health")).toMatchObject({ version: newVersion });
    // What the administrator wrote is there, and nothing was asked.
    expect(await shell("cat /etc/steward/config.yaml")).toContain("0.0.0.0");
  });

  it("stays disabled when it is upgraded", async () => {
    await shell("systemctl disable --now steward 2>/dev/null");
    expect(await apt(`install --reinstall ${packages}/1/steward_${newVersion}_*.deb`)).not.toContain("Next, as root");
    expect(await shell("systemctl is-enabled steward; systemctl is-active steward; true")).toBe("disabled\ninactive\n");
    await shell("systemctl enable --now steward 2>/dev/null");
  });

  it("is downgraded to the previous version", async () => {
    await apt(`install --allow-downgrades ${packages}/0/steward_${oldVersion}_*.deb`);
    expect(await ask("/health")).toMatchObject({ version: oldVersion });
  });

  it("replaces a version that requested what needs root by files, and does fixes by its socket then", async () => {
    const units = "usr/lib/systemd/system";
    const directory = "/run/steward-tasks";
    // The package as it was before the socket: its own units, directory and rules.
    await shell(
      [
        `dpkg-deb -R ${packages}/0/steward_${oldVersion}_*.deb /srv/older && cd /srv/older`,
        "sed -i 's/^Version: .*/Version: 0.0.9/' DEBIAN/control",
        `rm ${units}/steward-task.socket && sed -i 's/ steward-task.socket//' ${units}/steward.service`,
        `sed -i 's|^ExecStart=|&/usr/bin/flock --exclusive ${directory}/gate |; s/^Type=exec/Type=oneshot/' ${units}/steward-task@.service`,
        `sed -i 's|^d .*${directory} .*|d ${directory} 2750 root steward -|' usr/lib/tmpfiles.d/steward.conf`,
        "dpkg-deb -b -Znone . /srv/steward-older.deb",
        `systemctl stop steward steward-task.socket && rm -rf ${directory}`,
      ].join(" && "),
    );
    await apt("install --allow-downgrades /srv/steward-older.deb");
    await shell(`touch ${directory}/gate`);
    expect(await ask("/health")).toMatchObject({ version: oldVersion });
    const mode = () => shell(`stat -c %a ${directory}; systemctl show -P ActiveState steward-task.socket`);
    expect(await mode()).toBe("2750\ninactive\n");

    await apt(`install ${packages}/1/steward_${newVersion}_*.deb`);
    expect(await mode()).toBe("710\nactive\n");
    expect(await shell("systemctl cat steward-task@x.service")).not.toContain("flock");
    const breaks = (program: string) =>
      shell(
        `printf '[Service]\\nExecStart=${program}\\n' > /etc/systemd/system/breaks.service && systemctl daemon-reload`,
      );
    await breaks("/bin/false");
    await shell("systemctl start breaks; until systemctl -q is-failed breaks; do sleep 0.1; done");
    await breaks("/bin/sleep infinity");
    const fixed = await post<{ success: boolean }>("/health/checks/systemd_failed/fix", {});
    expect(fixed).toMatchObject({ success: true, check: { status: "pass" } });
    await shell("systemctl stop breaks; rm -r /srv/older /srv/steward-older.deb /etc/systemd/system/breaks.service");
    await apt(`install --allow-downgrades ${packages}/0/steward_${oldVersion}_*.deb`);
  });

  /** A user manager of the service's user, as an attacker or an administrator may have started one. */
  const startUserManager = async (): Promise<string> => {
    const unit = `user@${(await shell("id -u steward")).trim()}.service`;
    // In a unit of its own: what is entered from outside is in no control group of the guest.
    await shell("usermod --expiredate '' steward; systemd-run --quiet --wait --pipe loginctl enable-linger steward");
    // logind of Debian 13 does not start one again that has just ended.
    await shell(`systemctl start ${unit}`);
    await eventually(async () => expect(await state("ActiveState", unit)).toBe("active"));
    return unit;
  };
  const ownLogins = (): Promise<string> =>
    shell("ls -d /var/lib/systemd/linger/steward /run/user/$(id -u steward) 2>/dev/null; true");

  it.each(["enabled", "disabled"])("closes the account of an earlier version, whose service is %s", async (how) => {
    await shell(
      "systemctl stop steward; usermod --home /var/lib/steward --expiredate '' steward; systemctl start steward",
    );
    if (how === "disabled") await shell("systemctl disable steward 2>/dev/null");
    const manager = await startUserManager();
    await apt(`install --reinstall ${packages}/0/steward_${oldVersion}_*.deb`);
    expect(await shell("getent passwd steward | cut -d: -f6,7; getent shadow steward | cut -d: -f8")).toBe(
      "/nonexistent:/usr/sbin/nologin\n1\n",
    );
    expect(await state("ActiveState", manager)).toBe("inactive");
    expect(await ownLogins()).toBe("");
    expect(await state("ActiveState")).toBe("active");
    expect(await ask("/health")).toHaveProperty("version");
    // Of an account that has expired nobody starts one.
    await shell(`systemctl start ${manager} 2>/dev/null || true`);
    expect(await state("ActiveState", manager)).not.toBe("active");
    await shell(`systemctl reset-failed; systemctl enable steward 2>/dev/null`);
  });

  it("keeps settings and state when it is removed, and uses them when it is installed again", async () => {
    const manager = await startUserManager();
    await apt("remove steward");
    expect(await state("ActiveState", manager)).toBe("inactive");
    expect(await ownLogins()).toBe("");
    expect(await shell("systemctl is-active steward; true")).toBe("inactive\n");
    expect(await shell("ls /usr/bin/steward /usr/lib/steward 2>/dev/null; true")).toBe("");
    expect(await shell(`ls /etc/steward/config.yaml ${key}`)).toBe(`/etc/steward/config.yaml\n${key}\n`);
    await apt(`install ${packages}/1/steward_${newVersion}_*.deb`);
    expect(await ask("/health")).toMatchObject({ version: newVersion });
  });

  it("leaves nothing behind when it is purged but what Debian keeps", async () => {
    await shell("chattr +a /var/lib/steward/audit /var/lib/steward/audit/*.log");
    const manager = await startUserManager();
    await apt("purge steward");
    expect(await state("ActiveState", manager)).toBe("inactive");
    expect(await ownLogins()).toBe("");
    const { added, removed, changed } = changesSince(before, await fileTree(session), { ignore: kept });
    expect({ added, removed, changed }).toEqual({ added: [], removed: [], changed: [] });
    expect(await shell("ls -d /run/steward* /var/lib/steward* /var/cache/steward* 2>/dev/null; true")).toBe("");
    expect(await shell("systemctl list-units --all --plain --no-legend 'steward*'")).toBe("");
    expect(await shell("getent passwd steward")).toContain("/nonexistent:/usr/sbin/nologin");
  });
});
