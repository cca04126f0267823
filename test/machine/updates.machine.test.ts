import { beforeAll, expect, it } from "vitest";
import { followOperation, runOperation } from "#client/follow.ts";
import { beginOperation } from "#client/index.ts";
import type { UpdateApply } from "#contract/updates.ts";
import { at, makePackageSources, packageFile } from "../host/support/package-sources.ts";
import { refusal } from "../host/support/refusal.ts";
import { readAll } from "./reads.ts";
import { describeOnMachine, inTime } from "./support.ts";

const dayMs = 86_400_000;
/** Whose new versions ask for a reboot. With that of `breaker` a unit that runs no longer starts. */
const asks = "touch /run/reboot-required; echo $DPKG_MAINTSCRIPT_PACKAGE >> /run/reboot-required.pkgs";
const recipes = [
  at("steady", "1.0"),
  at("steady", "1.1", { postinst: [asks] }),
  at("breaker", "1.0", { postinst: ["rm -f /srv/broken"] }),
  at("breaker", "1.1", { postinst: [asks, "touch /srv/broken"] }),
  ...["back", "ahead"].flatMap((name) => [at(name, "1.0"), at(name, "1.1")]),
];
/** Longer than any test, so that what comes next is in the time of the guard; and shorter than a look. */
const [endless, short] = [10_000, 0.1];

describeOnMachine("updates on a machine", [], (session) => {
  const shell = (line: string): Promise<string> => session.machine.shell(line);
  const versionOf = (name: string) => shell(`dpkg-query -W -f '\${Version}' ${name}`);
  const bootId = () => shell("cat /proc/sys/kernel/random/boot_id");
  /** Every task reads it when it begins. */
  const watchFor = (minutes: number) =>
    session.machine.writeFile("/etc/steward/config.yaml", `rate_limits: off\nupdates: { guard_minutes: ${minutes} }\n`);

  /** Begins a guarded update. @returns its id, once the host is watched. */
  const beginWatched = async (name: string): Promise<string> => {
    await watchFor(endless);
    const body = { packages: [name], guard: true };
    const started = await beginOperation(await session.access(), "applyUpdates", { body }, name);
    if (!("operation" in started)) throw new Error("the update was not started as an operation");
    const { id } = started.operation;
    await inTime(async () =>
      expect(await (await session.api()).getOperation({ params: { id } })).toMatchObject({
        status: "running",
        progress: { step: "watch units, ports and checks" },
      }),
    );
    expect(await versionOf(name)).toBe("1.1");
    await watchFor(short);
    return id;
  };
  /** Does what makes the machine reboot, which may end with the connection before it has answered. */
  const rebootBy = async (line: string): Promise<void> => {
    const up = session.machine.nextBoot({ mayBeDegraded: true });
    await session.machine.exec(["sh", "-c", line], { allowFailure: true });
    await up;
  };
  const endOf = async (id: string) => {
    const operation = await followOperation({ ...(await session.access()), patienceMs: 600_000 }, id);
    expect(operation).toMatchObject({ status: "done", error: null });
    expect(operation.log).toContain("the host stops: it continues after the boot");
    return operation.result as UpdateApply;
  };

  beforeAll(async () => {
    const { machine } = session;
    await makePackageSources({ host: machine, shell }, recipes);
    const old = recipes.filter(({ version }) => version === "1.0");
    await shell(`dpkg -i ${old.map(packageFile).join(" ")}`);
    const peer = [
      "[Service]",
      "ExecStart=/bin/sh -c 'test ! -e /srv/broken && exec sleep infinity'",
      "[Install]",
      "WantedBy=multi-user.target",
    ];
    await machine.writeFile("/etc/systemd/system/peer.service", `${peer.join("\n")}\n`);
    await watchFor(short);
    await shell("systemctl enable --quiet --now peer && systemctl restart steward");
  });

  it("are found beside a source on a disk of the host whose lists apt reads where they are, by their hash", async () => {
    // As large archives have it.
    await shell(`set -e
      cd /srv && mkdir -p hashed/dists/stable/main/binary-amd64/by-hash/SHA256 && cd hashed/dists/stable
      list=main/binary-amd64/Packages
      printf 'Package: elsewhere\nVersion: 1.0\nArchitecture: amd64\nMaintainer: Nobody <nobody@example.org>\nFilename: elsewhere.deb\nSize: 1\nSHA256: %064d\nDescription: made for a test\n' 1 > $list
      hash=$(sha256sum $list | cut -d ' ' -f 1)
      cp $list main/binary-amd64/by-hash/SHA256/$hash
      printf 'Suite: stable\nCodename: stable\nComponents: main\nArchitectures: amd64\nAcquire-By-Hash: yes\nDate: %s\nSHA256:\n %s %s %s\n' "$(LC_ALL=C date --utc '+%a, %d %b %Y %T UTC')" $hash $(stat -c %s $list) $list > Release
      echo 'deb [trusted=yes arch=amd64] file:/srv/hashed stable main' > /etc/apt/sources.list.d/hashed.list
      apt-get --quiet update`);
    expect(await shell("readlink /var/lib/apt/lists/_srv_hashed_*_Packages")).toContain("/by-hash/SHA256/");
    const main = "$(systemctl show --property MainPID --value steward)";
    expect(await shell(`cat /proc/${main}/attr/current`)).toBe("steward-service (enforce)\n");
    const { packages, not_shown: missing } = await (await session.api()).checkUpdates();
    expect([missing, packages.updates.map(({ name }) => name)]).toEqual([
      undefined,
      expect.arrayContaining(["breaker", "steady"]),
    ]);
    await shell("rm /etc/apt/sources.list.d/hashed.list && apt-get --quiet update");
  });

  it("are still watched after a reboot that was scheduled before them, and kept", async () => {
    // That time comes when somebody sets the clock, and that of the hardware, ahead.
    await shell("timedatectl set-ntp false");
    const api = await session.api();
    const due = new Date(Date.parse((await api.getTime()).time) + dayMs).toISOString();
    expect(await api.rebootHost({ body: { at: due } })).toMatchObject({ success: true, scheduled_at: due });
    const before = await bootId();
    const id = await beginWatched("steady");
    expect((await api.getCheck({ params: { check_id: "reboot_required" } })).message).toContain("steady asked for it");
    await rebootBy(`timedatectl set-time "$(date --date '@${Math.ceil(Date.parse(due) / 1000)}' '+%F %T')"`);
    expect(await bootId()).not.toBe(before);
    expect(await endOf(id)).toMatchObject({
      success: true,
      packages_updated: 1,
      requires_reboot: false,
      guard: { outcome: "kept", message: "nothing is worse than before", worse: [] },
    });
    expect(await versionOf("steady")).toBe("1.1");
    expect(Date.parse((await (await session.api()).getTime()).time)).toBeGreaterThan(Date.parse(due));
  });

  it("hold back a reboot by a call, and are rolled back after one by hand, where a unit no longer starts", async () => {
    const id = await beginWatched("breaker");
    expect(await refusal((await session.api()).rebootHost({ body: {} }))).toMatchObject({
      code: "CONFLICT",
      details: { operation_id: id },
    });
    expect(await shell("systemctl is-active peer")).toBe("active\n");
    await rebootBy("systemctl reboot");
    const worse = "unit peer.service: was active (running), now failed (failed), result exit-code";
    expect(await endOf(id)).toMatchObject({
      success: false,
      packages_updated: 0,
      guard: { outcome: "rolled_back", worse: [worse], restarted: ["peer.service"], remaining: [] },
    });
    expect([await versionOf("breaker"), await shell("systemctl is-active peer")]).toEqual(["1.0", "active\n"]);
  });

  it("and everything else continue with a clock that is set back and ahead", async () => {
    const { url, key } = await session.access();
    const api = await session.api();
    const signIn = async () => {
      const answer = await fetch(`${url}/api/v1/auth/sessions`, {
        method: "POST",
        headers: { "Content-Type": "application/json" },
        body: JSON.stringify({ key }),
      });
      const { secret } = (await answer.json()) as { readonly secret: string };
      const headers = { Cookie: answer.headers.get("set-cookie")?.split(";")[0] ?? "", "X-Steward-Session": secret };
      return async () => (await fetch(`${url}/api/v1/auth/whoami`, { headers })).status;
    };
    const say = (line: string) => shell(`logger --tag clock ${line} && journalctl --sync`);
    const pageOf = async (window: { readonly since?: string; readonly until?: string }) =>
      (await api.listLogs({ query: { identifier: "clock", limit: 2, ...window } })).logs.map(({ message }) => message);
    await say("first");
    const early = await signIn();
    expect(await early()).toBe(200);
    for (const [name, days] of [
      ["back", -2],
      ["ahead", 4],
    ] as const) {
      await shell(`timedatectl set-time "$(date --date '${days} days' '+%F %T')"`);
      await say(name);
      expect(await pageOf({})).toEqual([name]);
      expect(await pageOf({ since: "2000-01-01T00:00:00Z", until: "2100-01-01T00:00:00Z" })).toEqual(
        (await shell("journalctl --quiet --identifier clock --lines 2 --output cat")).trim().split("\n"),
      );
      // It would last longer than it may, or has lasted long enough.
      expect(await early()).toBe(401);
      expect(await (await signIn())()).toBe(200);
      expect(await api.getCheck({ params: { check_id: "time_sync" } })).toMatchObject({
        status: "fail",
        details: { enabled: false, synchronised: false },
      });
      const body = { packages: [name], guard: true };
      expect(await runOperation({ url, key }, "applyUpdates", { body })).toMatchObject({
        success: true,
        packages_updated: 1,
        guard: { outcome: "kept", message: "nothing is worse than before" },
      });
      expect((await readAll(session)).filter(({ status }) => status >= 500)).toEqual([]);
    }
    expect(await shell("steward audit verify")).toMatch(/^intact: /m);
  });
});
