import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { SnapperFound } from "#adapters/snapshots/snapper/index.ts";
import type { RollbackResult } from "#contract/updates.ts";
import type { RollbackOutcome, SnapshotDiff, StoredSnapshot } from "#domain/ports/snapshots.ts";
import { driver } from "./program.ts";
import { momentsToKill } from "./support/kills.ts";
import { makePackageSources, type PackageRecipe } from "./support/package-sources.ts";
import { describeOnHost, type Session } from "./support/session.ts";

const [node, script] = driver("run-snapper");

const id = "20260131-235959";
const stateDir = "/var/lib/steward";
const app = (version: string): PackageRecipe => ({ name: "app", version, place: "main" });

/** What a unit that starts with the host finds of the package. */
const unit = `[Unit]
Description=Says which version of app has started
[Service]
Type=oneshot
ExecStart=/bin/cp /usr/share/app/version /run/app-version
[Install]
WantedBy=multi-user.target
`;

interface Answer<T> {
  readonly result?: T;
  readonly error?: string;
  readonly lines: readonly string[];
}

/** What the tests do with snapper on a host. */
function toolsOf(session: Session) {
  const shell = (line: string): Promise<string> => session.shell(line);
  const snapper = async <T = unknown>(verb: string, of = "", state = stateDir): Promise<Answer<T>> => {
    const { stdout } = await session.host.exec([node, script, verb, of, state], { timeoutMs: 120_000 });
    return JSON.parse(stdout) as Answer<T>;
  };
  const list = async (): Promise<readonly StoredSnapshot[]> =>
    (await snapper<readonly StoredSnapshot[]>("list")).result ?? [];
  const ids = async (): Promise<readonly string[]> => (await list()).map((each) => each.id);
  const defaultId = (): Promise<string> => shell("btrfs subvolume get-default / | cut -d ' ' -f 2");
  const copies = async (of: string): Promise<number> =>
    (await shell("snapper list")).split(`steward_transaction=back-${of}`).length - 1;
  const install = (version: string): Promise<string> =>
    shell(`DEBIAN_FRONTEND=noninteractive apt-get -yq --allow-downgrades install app=${version}`);
  const versionNow = (): Promise<string> => shell(`dpkg-query -W -f '\${Version}' app; cat /usr/share/app/version`);
  const removeAll = async (): Promise<void> => {
    for (const each of await ids()) await snapper("remove", each);
  };
  /** What the directory of the snapshots has, snapper's own view aside. */
  const leftovers = (): Promise<string> => shell("ls -A /.snapshots; snapper --csvout list --columns number,userdata");
  return { shell, snapper, list, ids, defaultId, copies, install, versionNow, removeAll, leftovers };
}

/** The adapter is tried by itself, as root, with the folder of the service as its own: so that has to be root's. */
const asRoot = { user: "root" } as const;

describeOnHost(
  "snapper",
  (session) => {
    const { shell, snapper, list, ids, defaultId, copies, install, versionNow, removeAll, leftovers } =
      toolsOf(session);

    beforeAll(async () => {
      // Snapper's own snapshots around each run of apt are tried below, and would be in the way before.
      await shell("echo DISABLE_APT_SNAPSHOT=yes >> /etc/default/snapper");
      await session.host.writeFile("/etc/systemd/system/app.service", unit);
      await makePackageSources(session, [app("1.0"), app("2.0")]);
      await install("1.0");
      await shell("systemctl enable --now app.service");
    });

    describe("is used", () => {
      const detect = async (): Promise<SnapperFound | undefined> => (await snapper<SnapperFound>("detect")).result;

      it("where a rollback takes effect", async () => {
        expect(await detect()).toMatchObject({ isUsable: true, config: "root", layout: { rootPath: "/@/" } });
      });

      it.each<[string, string, string, RegExp]>([
        [
          "snapper is missing",
          "mv /usr/bin/snapper /root/",
          "mv /root/snapper /usr/bin/",
          /^snapper is not installed$/,
        ],
        [
          "it has no configuration for the root",
          "cp /etc/default/snapper /root/; sed -i s/=.root.$/=/ /etc/default/snapper; systemctl stop snapperd",
          "mv /root/snapper /etc/default/; systemctl stop snapperd",
          /^snapper has no configuration for \/$/,
        ],
        [
          "its service does not start",
          "systemctl mask --now --runtime snapperd.service",
          "systemctl unmask --runtime snapperd.service",
          /^snapper does not answer: ./,
        ],
        [
          "the snapshots are not mounted at the next boot",
          "cp /etc/fstab /root/ && sed -i /snapshots/d /etc/fstab",
          "mv /root/fstab /etc/",
          /^\/\.snapshots is not mounted by \/etc\/fstab/,
        ],
        [
          "fstab names the subvolume of the root",
          "cp /etc/fstab /root/ && echo '/dev/x / btrfs rw,subvol=/@ 0 0' >> /etc/fstab",
          "mv /root/fstab /etc/",
          /^\/etc\/fstab names the subvolume of \//,
        ],
        [
          "a subvolume inside the root would be missing",
          "btrfs subvolume create '/srv/a b' && touch '/srv/a b/file'",
          "btrfs subvolume delete '/srv/a b'",
          /^\/srv\/a b: a subvolume inside that of \//,
        ],
        [
          "the packages are on another file system",
          "mount -t tmpfs tmpfs /var/lib/dpkg",
          "umount /var/lib/dpkg",
          /^\/var\/lib\/dpkg: not in the subvolume of \//,
        ],
        [
          "somebody wants to be told by snapper",
          "mkdir -p /usr/lib/snapper/plugins && touch /usr/lib/snapper/plugins/grub /usr/lib/snapper/plugins/10-loader",
          "rm -r /usr/lib/snapper/plugins",
          /^10-loader in .* has to be told/,
        ],
      ])("not where %s", async (_, spoil, mend, reason) => {
        await shell(spoil);
        try {
          expect(await detect()).toEqual({ isUsable: false, reason: expect.stringMatching(reason) });
        } finally {
          await shell(mend);
        }
        expect(await detect()).toMatchObject({ isUsable: true });
      });

      it("with an empty subvolume inside the root, which nobody misses", async () => {
        await shell("btrfs subvolume create /srv/empty");
        expect(await detect()).toMatchObject({ isUsable: true });
        await shell("btrfs subvolume delete /srv/empty");
      });
    });

    describe("keeps snapshots", () => {
      afterAll(removeAll);

      it("that are read-only, known by their ids, and never cleaned up by snapper", async () => {
        const { result } = await snapper<StoredSnapshot>("create", id);
        const count = Number(await shell("dpkg -l | grep -c ^ii"));
        const told = {
          id,
          description: "--a test, x=y",
          kind: "before_update",
          backend: "snapper",
          isProtected: false,
        };
        expect(result).toMatchObject({ ...told, packagesCount: count });
        expect(await list()).toEqual([{ ...result, sizeBytes: expect.any(Number) }]);
        expect(await shell("btrfs property get -ts /.snapshots/*/snapshot ro")).toBe("ro=true\n");
        expect(await shell("snapper --csvout list --columns cleanup | tail -n 1")).toBe("\n");
      });

      it("of which the same id is not taken twice", async () => {
        expect((await snapper("create", id)).error).toBe(`Error: there is a snapshot ${id} already`);
        expect(await ids()).toEqual([id]);
      });

      it("that have the size of what only they hold", async () => {
        await shell("dd if=/dev/urandom of=/root/large bs=1M count=8 2>&1; sync");
        await snapper("create", "20260131-235958");
        await shell("rm /root/large; sync; btrfs filesystem sync /");
        const sizeOf = async (wanted: string): Promise<number> =>
          (await list()).find((each) => each.id === wanted)?.sizeBytes ?? Number.NaN;
        expect(await sizeOf("20260131-235958")).toBeGreaterThanOrEqual(8 * 2 ** 20);
        expect(await sizeOf("20260131-235958")).toBeLessThan(16 * 2 ** 20);
        expect(await sizeOf(id)).toBeLessThan(8 * 2 ** 20);
        await snapper("remove", "20260131-235958");
        expect(await ids()).toEqual([id]);
      });

      it("and says what has changed since", async () => {
        await install("2.0");
        await shell("printf 'a' > '/etc/a \"b\"'; rm /etc/issue; echo x >> /etc/hosts; printf x > /etc/'two\nlines'");
        const { result } = await snapper<SnapshotDiff>("diff", id);
        expect(result?.packages).toEqual([{ name: "app", architecture: "all", from: "1.0", to: "2.0" }]);
        const expected = [
          { path: '/etc/a "b"', change: "added" },
          { path: "/etc/hosts", change: "modified" },
          { path: "/etc/issue", change: "removed" },
          { path: "/etc/two\nlines", change: "added" },
        ];
        for (const each of expected) expect(result?.files).toContainEqual(each);
        await shell("rm /etc/'two\nlines' '/etc/a \"b\"'");
        await install("1.0");
      });

      it("beside those of others, which can be returned to and which retention leaves", async () => {
        await shell("snapper create -d first & snapper create -d second & snapper create -d third & wait");
        const userdata = (): Promise<string> => shell("snapper --csvout list --columns number,userdata");
        const before = await userdata();
        const found = await list();
        // They are not ours: to look at them writes nothing into them.
        expect(await userdata()).toBe(before);
        const others = found.filter(({ isProtected }) => isProtected);
        expect(others.map(({ description }) => description.slice(0, 5)).sort()).toEqual(["first", "secon", "third"]);
        expect(others.every(({ packagesCount }) => packagesCount > 100)).toBe(true);
        expect(new Set(found.map((each) => each.id)).size).toBe(4);
        // The ids stay when a neighbour of the same second goes, by whoever's hand.
        const [gone, ...rest] = others;
        await snapper("remove", gone?.id);
        expect((await list()).filter(({ isProtected }) => isProtected).map((each) => each.id)).toEqual(
          rest.map((each) => each.id),
        );
        for (const each of rest) expect((await snapper("verify", each.id)).error).toBe(undefined);
        const { result } = await snapper<readonly StoredSnapshot[]>("expired");
        expect(result?.map((each) => each.id)).toEqual([id]);
      });

      it("and looks for nothing but ids", async () => {
        const before = await leftovers();
        for (const hostile of [
          "",
          "../../etc",
          "1",
          "20260131-235959 ",
          "--help",
          "20260131-235959,x=y",
          "0",
          "..",
          "💥",
        ]) {
          for (const verb of ["create", "verify", "diff", "remove", "rollback"]) {
            expect((await snapper(verb, hostile)).error, `${verb} ${hostile}`).toMatch(/a snapshot's id looks like/);
          }
        }
        for (const verb of ["verify", "diff", "remove", "rollback"]) {
          expect((await snapper(verb, "20200101-000000")).error).toBe(
            "SnapshotUnusable: there is no snapshot 20200101-000000",
          );
        }
        expect(await leftovers()).toBe(before);
      });

      it("of which nothing is left when the taking is cancelled", async () => {
        const before = await leftovers();
        for (let round = 0; round < 4; round += 1) {
          const { error } = await snapper("cancelled", "20260202-000000");
          if (error === undefined) await snapper("remove", "20260202-000000");
        }
        expect(await leftovers()).toBe(before);
      });
    });

    describe("refuses a snapshot, and leaves what boots next,", () => {
      beforeAll(async () => {
        await snapper("create", id);
      });
      afterAll(removeAll);

      const refused = async (of: string, reason: RegExp): Promise<void> => {
        const before = [await defaultId(), await leftovers()];
        for (const verb of ["verify", "rollback"]) {
          expect((await snapper(verb, of)).error).toMatch(reason);
        }
        expect([await defaultId(), await leftovers()]).toEqual(before);
      };

      it("that has no modules for a kernel of a /boot of its own", async () => {
        await shell("mount -t tmpfs tmpfs /boot && touch /boot/vmlinuz-9.9.9");
        await refused(id, /^SnapshotUnusable: .*no modules for the kernel 9\.9\.9/);
        await shell("rm /boot/vmlinuz-9.9.9");
        expect((await snapper("verify", id)).error).toBe(undefined);
        await shell("umount /boot");
      });

      it.each([
        ["without a folder", "rm -r S/etc", /has no \/etc/],
        [
          "with nothing to boot",
          "rm -r S/sbin S/usr/sbin/init S/lib S/usr/lib/systemd/systemd",
          /no program to boot with/,
        ],
        ["with an empty package database", ": > S/var/lib/dpkg/status", /has no packages/],
        ["without a package database", "rm -r S/var/lib/dpkg", /cannot be read: .*ENOENT/],
      ])("%s", async (_, spoil, reason) => {
        const damaged = "20260203-000000";
        await snapper("create", damaged);
        const found = `$(dirname $(grep -l ${damaged} /.snapshots/*/info.xml))/snapshot`;
        await shell(`S=${found}; btrfs property set -ts $S ro false && ${spoil.replaceAll("S/", "$S/")}`);
        await shell(`btrfs property set -ts ${found} ro true`);
        await refused(damaged, reason);
        expect((await snapper("remove", damaged)).error).toBe(undefined);
      });
    });

    describe("returns to a snapshot", () => {
      const moveOn = async (): Promise<void> => {
        await install("2.0");
        await shell("echo changed >> /etc/hosts; mkdir /opt/new; chmod 700 /usr/share/doc; rm /etc/debian_version");
      };
      const state = async () => ({
        version: await versionNow(),
        hosts: await shell("cat /etc/hosts /etc/debian_version"),
        folders: await shell("stat -c '%a %n' /usr/share/doc; ls /opt"),
        dpkg: await shell("dpkg -l"),
      });
      let original: Awaited<ReturnType<typeof state>>;
      let rounds = 0;

      beforeAll(async () => {
        original = await state();
        expect(original.version).toBe("1.01.0\n");
      });

      it("with the next boot, and keeps the state of the service", async () => {
        // As docs/audit.md has it: the snapshot has it, too, and what is there has to go for the state as it is now.
        const log = `${stateDir}/audit ${stateDir}/audit/*.log`;
        await shell(`chattr +a ${log}`);
        await snapper("create", id);
        await shell(`chattr -a ${log}`);
        const { key } = await session.api.createKey({ body: { name: "later", scopes: ["system:read"] } });
        await moveOn();
        const { result, error } = await snapper<RollbackOutcome>("rollback", id);
        expect(error).toBe(undefined);
        expect(result).toMatchObject({
          isDone: true,
          requiresReboot: true,
          packages: [{ name: "app", architecture: "all", from: "2.0", to: "1.0" }],
        });
        expect(result?.filesRestored).toBeGreaterThanOrEqual(2);
        expect(result?.reason).toMatch(/stays in the root that is left/);
        // Until then nothing has changed.
        expect(await versionNow()).toBe("2.02.0\n");
        const { key: last } = await session.api.createKey({ body: { name: "last", scopes: ["system:read"] } });
        await shell("systemctl stop steward.service");
        expect((await snapper("carry")).error).toBe(undefined);

        await session.host.reboot();
        expect(await state()).toEqual(original);
        expect(await shell("cat /run/app-version")).toBe("1.0\n");
        await session.service.restart();
        for (const each of [key, last, session.service.adminKey]) {
          const { status } = await fetch(`${session.service.url}/api/v1/system/info`, {
            headers: { authorization: `Bearer ${each}` },
          });
          expect(status).toBe(200);
        }
        expect(await shell(`stat -c '%a %U' ${stateDir}; ls -A /var/lib | grep -c '^steward'`)).toBe("700 root\n1\n");
        expect((await snapper("detect")).result).toMatchObject({ isUsable: true });
      });

      it("and knows after the reboot that it is done, and what it did", async () => {
        const before = await leftovers();
        const { result } = await snapper<RollbackOutcome>("rollback", id);
        expect(result).toMatchObject({
          isDone: true,
          requiresReboot: false,
          packages: [{ name: "app", from: "2.0", to: "1.0" }],
        });
        expect(await leftovers()).toBe(before);
        expect(await copies(id)).toBe(1);
      });

      const moments = [
        ["a moment after it began", "true"],
        ["when it has written down what it changes", `[ -e ${stateDir}/snapper-rollback.json.new ]`],
        ["while it makes the copy", `set -- /.snapshots/*/snapshot; [ $# -gt "$before" ]`],
        ["when the state is about to be copied", "set -- /.snapshots/steward-*; [ -e $1 ]"],
        ["while the state is copied", "set -- /.snapshots/*/snapshot/var/lib/steward.carried/*; [ -e $1 ]"],
        ["while the state is put in place", "set -- /.snapshots/*/snapshot/var/lib/steward.earlier; [ -e $1 ]"],
        ["when the copy is to be booted next", `[ "$(btrfs subvolume get-default /)" != "$default" ]`],
      ] as const;
      it.each(momentsToKill(moments))(
        "with one copy, although it was killed %s, alone or snapper with it",
        async (_, moment) => {
          for (const others of ["", "systemctl kill --signal=KILL snapperd.service 2>&1;"]) {
            const of = `20260301-0000${String(rounds).padStart(2, "0")}`;
            rounds += 1;
            expect((await snapper("create", of)).error).toBe(undefined);
            await shell(`rm -f /etc/killed-*; touch /etc/killed-${rounds}; rm -f ${stateDir}/snapper-rollback.json`);
            await shell(
              "set -- /.snapshots/*/snapshot; before=$#; default=$(btrfs subvolume get-default /);" +
                ` systemd-run --quiet --collect --unit=back ${node} ${script} rollback ${of} ${stateDir};` +
                " pid=$(systemctl show -P MainPID back.service);" +
                ` while [ -d /proc/$pid ]; do ${moment} && break; done; systemctl kill --signal=KILL back.service 2>&1;` +
                ` ${others} while systemctl is-active --quiet back.service; do :; done`,
            );
            const { result, error } = await snapper<RollbackOutcome>("rollback", of);
            expect([error, result?.isDone, result?.requiresReboot]).toEqual([undefined, true, true]);
            expect(await copies(of)).toBe(1);
            // The root that is booted, and the next one: that of a rollback that was never booted goes with the next rollback.
            expect(await shell("snapper --csvout list --columns userdata | grep -c steward_transaction")).toBe("2\n");
            expect(await shell("ls -d /.snapshots/steward-* 2>/dev/null || true")).toBe("");
            expect(await shell("snapper --csvout list --columns number,default,userdata | grep ,yes,")).toContain(of);
          }
        },
      );

      it("to the last of those that were killed", async () => {
        await session.host.reboot();
        expect(await state()).toEqual(original);
        expect(await shell("ls /etc/killed-*")).toBe(`/etc/killed-${rounds - 1}\n`);
        await session.service.restart();
        await removeAll();
      });

      it("unless the state cannot be brought along without leaving the copy", async () => {
        await shell("ln -s /root /opt/kept");
        await snapper("create", "20260401-000000");
        await shell("rm /opt/kept && mkdir -p /opt/kept/state && touch /opt/kept/state/keys");
        const before = await defaultId();
        const { error } = await snapper("rollback", "20260401-000000", "/opt/kept/state");
        expect(error).toMatch(/cannot copy the state: .*\/opt\/kept is not a directory$/);
        expect([await defaultId(), await shell("ls /root; rm -r /opt/kept")]).toEqual([before, ""]);
        await removeAll();
      });

      it("and leaves state alone that is on another file system", async () => {
        await shell("mkdir /opt/apart");
        await snapper("create", "20260402-000000");
        await shell("mount -t tmpfs tmpfs /opt/apart && touch /opt/apart/keys");
        const { result } = await snapper<RollbackOutcome>("rollback", "20260402-000000", "/opt/apart");
        expect(result).toMatchObject({ isDone: true, requiresReboot: true });
        expect(
          await shell("ls -A $(btrfs subvolume get-default / | sed 's,.*@snapshots,/.snapshots,')/opt/apart"),
        ).toBe("");
        await shell("umount /opt/apart; rmdir /opt/apart; btrfs subvolume set-default /");
        await removeAll();
      });

      it("as an operation that is taken up again after the reboot, and ends as it would have", async () => {
        const of = "20260501-000000";
        await snapper("create", of);
        await moveOn();
        const first = await snapper<RollbackResult>("operation", of);
        expect(first.result).toMatchObject({ success: true, requires_reboot: true, packages_changed: 1 });
        const safety = first.result?.safety_snapshot_id ?? "";
        await session.host.reboot();
        const before = await leftovers();
        const again = await snapper<RollbackResult>("operation", of);
        const { message, ...rest } = first.result ?? { message: "" };
        expect(message).toMatch(/; it is complete after a reboot; what is written to \/ until the reboot stays/);
        expect(again.result).toEqual({ ...rest, message: `returned to ${of}`, requires_reboot: false });
        expect(await leftovers()).toBe(before);
        expect(await state()).toEqual(original);
        // What was before is in the safety snapshot, and can be returned to in turn.
        expect((await snapper<SnapshotDiff>("diff", safety)).result?.packages).toEqual([
          { name: "app", architecture: "all", from: "2.0", to: "1.0" },
        ]);
        await shell(`rm ${stateDir}/phase.json`);
        expect((await snapper<RollbackOutcome>("rollback", safety)).result).toMatchObject({ isDone: true });
        await session.host.reboot();
        expect(await versionNow()).toBe("2.02.0\n");
        expect((await snapper<RollbackOutcome>("rollback", of)).result).toMatchObject({ isDone: true });
        await session.host.reboot();
        expect(await state()).toEqual(original);
        await removeAll();
      });

      it("of somebody else, such as snapper takes before apt runs", async () => {
        await shell("sed -i s/DISABLE_APT_SNAPSHOT=.*/DISABLE_APT_SNAPSHOT=no/ /etc/default/snapper");
        await moveOn();
        const pre = (await list()).find(({ description }) => description.includes(", pre)"));
        expect(pre).toMatchObject({ isProtected: true, kind: "external" });
        const { result, error } = await snapper<RollbackOutcome>("rollback", pre?.id);
        expect([error, result?.isDone]).toEqual([undefined, true]);
        await session.host.reboot();
        expect({ ...(await state()), dpkg: "" }).toEqual({ ...original, dpkg: "" });
      });
    });
  },
  asRoot,
);

// A host of its own: btrfs goes on, or turns read-only, as what is full is its data or its metadata.
describeOnHost(
  "snapper on a full disk",
  (session) => {
    const { shell, snapper, ids, defaultId, leftovers } = toolsOf(session);
    const other = "20260202-000000";

    it("leaves nothing half made, and boots what it did before unless it says otherwise", async () => {
      await snapper("create", id);
      const before = await leftovers();
      const atFirst = await defaultId();
      await shell(
        "f=$(btrfs filesystem usage -b / | sed -n 's/.*Free (estimated):[^0-9]*\\([0-9]*\\).*/\\1/p');" +
          " fallocate -l $((f - 300000000)) /filler; cat /dev/zero > /filler-2 2>/dev/null; sync || true",
      );
      const { error } = await snapper("create", other);
      if (error === undefined) expect(await ids()).toContain(other);
      else expect(await leftovers()).toBe(before);
      const { result } = await snapper<RollbackOutcome>("rollback", id);
      expect((await defaultId()) !== atFirst).toBe(result?.isDone === true);
    });
  },
  asRoot,
);
