import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type {
  AvailableUpdates,
  InstalledPackage,
  PackageChange,
  TransactionPlan,
  TransactionResult,
} from "#domain/ports/packages.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { kills } from "./support/kills.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { freePort } from "./support/plugin-peers.ts";
import { describeOnHost } from "./support/session.ts";
import { killedCommit, packageManager, type UpdatesInput } from "./support/updates.ts";

const at = (name: string, version: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name,
  version,
  place: "main",
  ...rest,
});

/** What is installed before each test, and what the sources have that is newer. */
const old = ["shield", "both", "plain", "needy", "steady", "library"].map((name) => at(name, "1.0"));
const fresh = at("fresh", "1.0");
const newer: readonly PackageRecipe[] = [
  at("shield", "1.1", { place: "security" }),
  at("both", "1.1", { place: "security" }),
  at("both", "1.2"),
  at("plain", "1.1"),
  at("needy", "1.1", { control: ["Depends: fresh, library (>= 1.1)"] }),
  at("library", "1.1"),
  at("steady", "1.1"),
  fresh,
];

/** Packages that some tests install by themselves. */
const failing = [
  at("failing", "1.0"),
  at("failing", "1.1", { postinst: ["echo 'cannot reach the moon' >&2", "exit 3"] }),
];
const broken = [at("broken", "1.0"), at("broken", "1.1", { control: ["Depends: nowhere-to-be-found"] })];
const rival = [at("rival", "1.0"), at("rival", "1.1", { control: ["Conflicts: plain"] })];
const restarter = [at("restarter", "1.0"), at("restarter", "1.1", { postinst: ["systemctl restart peer.service"] })];
const linked = [
  at("linked", "1.0"),
  at("linked", "1.1", { place: "security", control: ["Depends: linked-data (>= 1.1)"] }),
  at("linked-data", "1.0"),
  at("linked-data", "1.1"),
];
const slowNames = ["slow-a", "slow-b", "slow-c"];
const slow = slowNames.flatMap((name) => [
  at(name, "1.0"),
  at(name, "1.1", { preinst: ["sleep 0.1"], postinst: ["sleep 0.1"], control: ["Depends: fresh"] }),
]);
const torn = [at("torn", "1.0"), at("torn", "1.1", { preinst: ["while test -e /srv/wait; do sleep 0.1; done"] })];
const special = [...torn, ...failing, ...broken, ...rival, ...restarter, ...linked, ...slow];

/** Takes a lock as apt does, and keeps it until it is ended. */
const locker = `import fcntl, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
open("/run/locked", "w").close()
time.sleep(600)
`;

/** Its daemon writes there when it ends, a minute after somebody has asked it. */
const snapperLog = /^\/var\/log\/snapper\.log$/;

describeOnHost("apt as the package manager of updates", (session) => {
  const { shell } = session;
  const ask = <T>(verb: string, input?: UpdatesInput) => packageManager<T>(session, verb, input);

  const told = async <T>(verb: string, input?: UpdatesInput): Promise<T> => {
    const { result, error } = await ask<T>(verb, input);
    if (result === undefined) throw new Error(error);
    return result;
  };
  const request = (
    type: "packages" | "system" | "all" = "packages",
    isSecurityOnly = false,
    names?: readonly string[],
  ): UpdatesInput => ({ request: { type, isSecurityOnly, ...(names && { names }) } });
  const plan = (...args: Parameters<typeof request>) => told<TransactionPlan>("simulate", request(...args));
  const commit = (given: TransactionPlan, rest: UpdatesInput = {}) =>
    ask<TransactionResult>("commit", { plan: given, ...rest });
  const brief = ({ changes }: Pick<TransactionPlan, "changes">): readonly string[] =>
    changes.map(({ name, from, to }: PackageChange) => `${name} ${from ?? "-"} ${to ?? "-"}`);

  const versions = async (...names: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const all = await told<readonly InstalledPackage[]>("installed");
    const installed = all.filter(({ isUnfinished = false }) => !isUnfinished);
    return Object.fromEntries(
      names.map((name) => [name, installed.find((each) => each.name === name)?.version ?? "none"]),
    );
  };
  const install = (recipes: readonly PackageRecipe[]): Promise<string> =>
    shell(`dpkg --install --force-downgrade ${recipes.map(packageFile).join(" ")} 2>&1`);
  const installOld = (recipes: readonly PackageRecipe[]): Promise<string> =>
    install(recipes.filter(({ version, place }) => version === "1.0" && place === "main"));

  beforeAll(async () => {
    await makePackageSources(session, [...old, ...newer, ...special]);
    // Their own snapshots at each transaction are not what is tested here.
    await shell("rm -f /etc/apt/apt.conf.d/80snapper");
  });
  beforeEach(async () => {
    await installOld(old);
    await shell("apt-mark hold steady && apt-mark auto library");
  });
  afterEach(async () => {
    await shell(
      `apt-mark unhold steady; dpkg --configure --pending; dpkg --purge --force-depends fresh ${[...new Set(special.map(({ name }) => name))].join(" ")} 2>&1`,
    );
  });

  describe("says", () => {
    it("what can be updated, what is held and how old the lists are", async () => {
      const { updates, held, listsAt } = await told<AvailableUpdates>("updates");
      expect(updates.map(({ name, from, to, isSecurity }) => `${name} ${from} ${to} ${isSecurity}`).sort()).toEqual([
        "both 1.0 1.2 true",
        "library 1.0 1.1 false",
        "needy 1.0 1.1 false",
        "plain 1.0 1.1 false",
        "shield 1.0 1.1 true",
      ]);
      expect(held).toEqual(["steady"]);
      expect(listsAt).toBe(Math.floor(Number(await shell("stat -c %.3Y /var/lib/apt/lists")) * 1_000 + 0.5));
    });

    it("what is installed, by whom it is wanted", async () => {
      const installed = await told<readonly InstalledPackage[]>("installed");
      const architecture = "all";
      expect(installed).toContainEqual({ name: "plain", architecture, version: "1.0", isManual: true, isHeld: false });
      expect(installed).toContainEqual({
        name: "library",
        architecture,
        version: "1.0",
        isManual: false,
        isHeld: false,
      });
      expect(installed).toContainEqual({ name: "steady", architecture, version: "1.0", isManual: true, isHeld: true });
      expect(installed).toHaveLength(Number(await shell("dpkg --list | grep -c '^[ih]i'")));
    });

    it("what each kind of request would do, and changes nothing by it", async () => {
      const before = await fileTree(session);
      const all = [
        "both 1.0 1.2",
        "fresh - 1.0",
        "library 1.0 1.1",
        "needy 1.0 1.1",
        "plain 1.0 1.1",
        "shield 1.0 1.1",
      ];
      expect(brief(await plan("packages"))).toEqual(all);
      expect(brief(await plan("system"))).toEqual(all);
      expect(brief(await plan("all"))).toEqual(all);
      expect(brief(await plan("packages", true))).toEqual(["both 1.0 1.1", "shield 1.0 1.1"]);
      expect(brief(await plan("all", true))).toEqual(["both 1.0 1.1", "shield 1.0 1.1"]);
      expect(brief(await plan("packages", false, ["plain"]))).toEqual(["plain 1.0 1.1"]);
      expect(brief(await plan("packages", false, ["needy"]))).toEqual([
        "fresh - 1.0",
        "library 1.0 1.1",
        "needy 1.0 1.1",
      ]);
      expect(brief(await plan("packages", true, ["plain", "both"]))).toEqual(["both 1.0 1.1"]);
      expect(changesSince(before, await fileTree(session), { ignore: [/^\/var\/log\/journal/, snapperLog] })).toEqual({
        added: [],
        removed: [],
        changed: [],
      });
    });

    it("why a request cannot be met", async () => {
      await installOld([...broken, ...linked]);
      const why = async (...args: Parameters<typeof request>) => (await ask("simulate", request(...args))).error;
      expect(await why("packages", false, ["nobody"])).toBe("UpdateRefused: nobody is not installed");
      expect(await why("packages", false, ["fresh"])).toBe("UpdateRefused: fresh is not installed");
      expect(await why("packages", false, ["--reinstall"])).toBe("UpdateRefused: --reinstall is not installed");
      expect(await why("packages", false, ["steady"])).toBe("UpdateRefused: steady is held at its version");
      expect(await why("packages", false, ["broken"])).toMatch(/^UpdateRefused: .*broken.*nowhere-to-be-found/);
      expect(await why("packages", true, ["linked"])).toMatch(
        /^UpdateRefused: .*linked-data 1\.1.*not a security update/,
      );
      // Among others they are left where they are.
      expect(brief(await plan("packages", true))).toEqual(["both 1.0 1.1", "shield 1.0 1.1"]);
      expect(brief(await plan("packages")).join()).not.toContain("broken");
    });

    it("that packages are removed only by an upgrade of the system", async () => {
      await installOld(rival);
      expect(brief(await plan("packages")).join()).not.toContain("rival");
      expect((await ask("simulate", request("packages", false, ["rival"]))).error).toMatch(/^UpdateRefused: /);
      expect(brief(await plan("system", false, ["rival"]))).toEqual(["plain 1.0 -", "rival 1.0 1.1"]);
    });
  });

  describe("carries out", () => {
    it("security updates alone", async () => {
      const { result, lines, steps } = await commit(await plan("packages", true));
      expect(result).toEqual({ isDone: true, reason: "" });
      expect(await versions("both", "shield", "plain", "needy", "library", "fresh", "steady")).toEqual({
        both: "1.1",
        shield: "1.1",
        plain: "1.0",
        needy: "1.0",
        library: "1.0",
        fresh: "none",
        steady: "1.0",
      });
      expect(lines).toContain("Setting up shield (1.1) ...");
      expect(lines.join("\n")).not.toMatch(/status:|Reading database/);
      expect(steps.at(-1)?.what).toMatch(/^Installed /);
      expect(await told("audit")).toEqual([]);
    });

    it("all of a plan with what it needs, and leaves marks and holds as they were", async () => {
      const marks = (): Promise<string> => shell("apt-mark showauto; apt-mark showhold");
      const before = await marks();
      const { result } = await commit(await plan("packages"));
      expect(result).toEqual({ isDone: true, reason: "" });
      expect(await versions("both", "needy", "library", "fresh", "steady")).toEqual({
        both: "1.2",
        needy: "1.1",
        library: "1.1",
        fresh: "1.0",
        steady: "1.0",
      });
      expect((await marks()).split("\n").filter((name) => name !== "fresh")).toEqual(before.split("\n"));
      expect(await shell("apt-mark showauto fresh library")).toBe("fresh\nlibrary\n");
      expect(brief(await plan("packages"))).toEqual([]);
    });

    it("a removal that an upgrade of the system brings", async () => {
      await installOld(rival);
      const { result } = await commit(await plan("system", false, ["rival"]));
      expect(result).toEqual({ isDone: true, reason: "" });
      expect(await versions("rival", "plain")).toEqual({ rival: "1.1", plain: "none" });
    });

    it("nothing else than the plan", async () => {
      const planned = await plan("packages", false, ["plain", "shield"]);
      await install([at("plain", "1.1")]);
      const { error } = await commit(planned);
      expect(error).toMatch(/^UpdateRefused: what would be done has changed since it was planned/);
      expect(await versions("shield")).toEqual({ shield: "1.0" });
      const [change] = planned.changes;
      const forged = { ...planned, changes: [{ ...change, name: "plain", to: "1.1 --purge" }] } as TransactionPlan;
      expect((await commit(forged)).error).toBe("UpdateRefused: 1.1 --purge is not a version of plain");
    });

    it("an update that restarts a service", async () => {
      await session.writeUnits({ "peer.service": ["[Service]", "ExecStart=/usr/bin/sleep infinity"] });
      await shell("systemctl start peer.service");
      const invocation = (): Promise<string> => shell("systemctl show --property=InvocationID --value peer.service");
      const before = await invocation();
      await installOld(restarter);
      expect((await commit(await plan("packages", false, ["restarter"]))).result).toMatchObject({ isDone: true });
      expect(await versions("restarter")).toEqual({ restarter: "1.1" });
      expect(await invocation()).not.toBe(before);
      await shell("systemctl stop peer.service");
    });
  });

  describe("fails before anything is changed", () => {
    const untouched = async (): Promise<void> => {
      expect(await versions("plain", "shield")).toEqual({ plain: "1.0", shield: "1.0" });
      expect(await told("audit")).toEqual([]);
    };

    /** With sources that a web server of the host has, for as long as the work lasts. */
    const overHttp = async (work: (mirror: string) => Promise<void>): Promise<void> => {
      const port = await freePort();
      const command = `python3 -m http.server --bind 127.0.0.1 --directory /srv/packages ${port}`;
      await shell(`systemd-run --quiet --collect --unit=mirror ${command}`);
      try {
        await eventually(() => shell(`curl -fsS http://127.0.0.1:${port}/main/Packages`));
        await shell(`cp /etc/apt/sources.list /root/sources`);
        await shell(`sed -i 's, file:/srv/packages/, http://127.0.0.1:${port}/,' /etc/apt/sources.list`);
        await shell("apt-get -q update");
        await work("mirror.service");
      } finally {
        await shell("systemctl stop mirror.service; cp /root/sources /etc/apt/sources.list; apt-get -q update");
      }
    };

    it("when a repository has vanished", async () => {
      await overHttp(async (mirror) => {
        const planned = await plan("packages");
        expect(planned.downloadBytes).toBeGreaterThan(3_000);
        await shell(`systemctl stop ${mirror}`);
        const { result } = await commit(planned);
        expect(result).toMatchObject({
          isDone: false,
          reason: expect.stringMatching(/^Failed to fetch http:.*refused/),
        });
      });
      await untouched();
    });

    it("when a file is not the one that the lists describe", async () => {
      const planned = await plan("packages");
      const file = packageFile(at("plain", "1.1"));
      await shell(
        `cp -a ${file} /root/kept && printf "changed by a test" | dd of=${file} bs=1 seek=200 conv=notrunc 2>/dev/null`,
      );
      try {
        const { result } = await commit(planned);
        expect(result).toMatchObject({
          isDone: false,
          reason: expect.stringMatching(/Hash Sum mismatch|unexpected size/),
        });
        await untouched();
      } finally {
        await shell(`cp -a /root/kept ${file}`);
      }
    });

    it("when there is no room for the downloads", async () => {
      await overHttp(async () => {
        await shell("mount -t tmpfs -o size=4k tmpfs /var/cache/apt/archives");
        try {
          const { error } = await commit(await plan("packages"));
          expect(error).toMatch(/^UpdateRefused: there is no room: \/var\/cache\/apt\/archives has /);
          const modest = { ...(await plan("packages")), downloadBytes: 1 };
          const { result } = await commit(modest);
          expect(result).toMatchObject({ isDone: false, reason: expect.stringMatching(/space|No space left/) });
        } finally {
          await shell("umount /var/cache/apt/archives");
        }
      });
      await untouched();
    });

    it("when there is no room for what is installed", async () => {
      const planned = { ...(await plan("packages")), diskBytes: 10 ** 15 };
      expect((await commit(planned)).error).toMatch(/^UpdateRefused: there is no room: \/usr has [\d.]+ \w+ free/);
      await untouched();
    });

    it("while somebody else holds the lock, whom it names", async () => {
      const planned = await plan("packages");
      await session.host.writeFile("/srv/locker.py", locker);
      await shell("rm -f /run/locked && systemd-run --quiet --collect --unit=locker python3 /srv/locker.py");
      try {
        await eventually(() => shell("test -e /run/locked"));
        const pid = Number(await shell("systemctl show --property=MainPID --value locker.service"));
        const { error, holder } = await commit(planned, { lockWaitMs: 1_000 });
        expect(error).toMatch(/^PackagesLocked: python3 \(process \d+\) holds the lock/);
        expect(holder).toEqual({ pid, program: "python3" });
        await untouched();
      } finally {
        await shell("systemctl stop locker.service");
      }
      expect((await commit(planned)).result).toMatchObject({ isDone: true });
    });
  });

  describe("does not hide", () => {
    it("a package that cannot be set up, until it can", async () => {
      await installOld(failing);
      const { result } = await commit(await plan("packages", false, ["failing", "plain"]));
      expect(result).toMatchObject({
        isDone: false,
        reason: expect.stringMatching(/failing: .*exit status 3 \(cannot reach the moon\)/),
      });
      expect(await told("audit")).toEqual(["failing 1.1 is half-configured"]);
      expect(await versions("failing", "plain")).toEqual({ failing: "none", plain: "1.1" });
      expect(await told("installed")).toContainEqual(
        expect.objectContaining({ name: "failing", version: "1.1", isUnfinished: true }),
      );
      expect((await ask("repair")).result).toMatchObject({
        isDone: false,
        reason: expect.stringContaining("cannot reach the moon"),
      });
      await shell("sed -i 's/exit 3/exit 0/' /var/lib/dpkg/info/failing.postinst");
      expect((await ask("repair")).result).toEqual({ isDone: true, reason: "" });
      expect(await told("audit")).toEqual([]);
      expect(await versions("failing")).toEqual({ failing: "1.1" });
    });

    it("a source that does not answer, or that nobody has signed", async () => {
      expect((await ask("refresh")).error).toBe(undefined);
      await shell(
        "cp /etc/apt/sources.list /root/sources; echo 'deb [trusted=yes] file:/srv/nowhere ./' >> /etc/apt/sources.list",
      );
      expect((await ask("refresh")).error).toContain("Failed to fetch file:/srv/nowhere/");
      await shell("sed 's/\\[trusted=yes\\] //' /root/sources > /etc/apt/sources.list");
      expect((await ask("refresh")).error).toContain("is not signed");
      await shell("cp /root/sources /etc/apt/sources.list");
      expect((await ask("refresh")).error).toBe(undefined);
    });
  });

  describe("comes to the end of the plan", () => {
    const state = (): Promise<string> =>
      shell("dpkg --list | grep -E '^.. +(slow-|fresh|plain|library)'; apt-mark showauto");

    it("when the package manager was killed while it unpacked", async () => {
      await installOld(torn);
      const planned = await plan("packages", false, ["torn", "plain"]);
      await shell("touch /srv/wait");
      try {
        const running = commit(planned, { id: "torn" });
        await eventually(() => shell("pgrep --exact preinst"));
        await shell("systemctl kill --kill-whom=all --signal=KILL steward-packages-torn.service");
        const { result } = await running;
        expect(result).toMatchObject({ isDone: false, reason: "it was ended by SIGKILL" });
      } finally {
        await shell("rm /srv/wait");
      }
      expect((await told<readonly string[]>("audit")).join()).toContain("torn");
      expect((await ask("repair", { id: "torn" })).result).toEqual({ isDone: true, reason: "" });
      const now = await versions("torn", "plain");
      const rest = { ...planned, changes: planned.changes.filter(({ name, to }) => now[name] !== to) };
      expect((await commit(rest, { id: "torn" })).result).toEqual({ isDone: true, reason: "" });
      expect(await versions("torn", "plain")).toEqual({ torn: "1.1", plain: "1.1" });
    });

    it("whenever the process that does it was killed, the package manager with it or not", async () => {
      const names = [...slowNames, "plain", "library"];
      const reset = async (): Promise<void> => {
        await shell("dpkg --purge --force-depends fresh 2>&1");
        await installOld([...old, ...slow]);
        await shell("apt-mark auto slow-a library");
      };
      await reset();
      const planned = await plan("packages", false, names);
      expect((await commit(planned)).result).toMatchObject({ isDone: true });
      const end = await state();
      const { fraction: random } = createRandom(seed);
      for (let round = 0; round < kills; round += 1) {
        await reset();
        const id = `round-${round}`;
        await killedCommit(session, { id, plan: planned }, 150 + random() * 2_000);
        if (round % 2 === 1)
          await shell("systemctl kill --kill-whom=all --signal=KILL 'steward-packages-*' 2>&1 || true");
        await told("settle", { id });
        expect((await ask("repair", { id })).result).toEqual({ isDone: true, reason: "" });
        const now = await versions(...planned.changes.map(({ name }) => name));
        const rest = { ...planned, changes: planned.changes.filter(({ name, to }) => now[name] !== to) };
        expect((await commit(rest, { id })).result).toEqual({ isDone: true, reason: "" });
        expect(await told("audit")).toEqual([]);
        expect(await state()).toBe(end);
      }
    });
  });

  it("knows which services still run what was replaced", async () => {
    const build = async (version: string): Promise<void> => {
      const folder = `/tmp/daemon-${version}`;
      await session.host.writeFile(
        `${folder}/DEBIAN/control`,
        `Package: daemon\nVersion: ${version}\nArchitecture: amd64\nMaintainer: Nobody <nobody@example.org>\nDescription: test\n`,
      );
      await shell(`mkdir -p ${folder}/usr/lib/daemon && cp /usr/bin/sleep ${folder}/usr/lib/daemon/daemon`);
      await shell(
        `dpkg-deb --root-owner-group --build ${folder} /srv/daemon_${version}.deb && dpkg --install /srv/daemon_${version}.deb`,
      );
    };
    await build("1.0");
    await session.writeUnits({ "stale.service": ["[Service]", "ExecStart=/usr/lib/daemon/daemon 600"] });
    await shell("systemctl start stale.service");
    expect(await told("restartNeeds")).toEqual({ requiresReboot: false, units: [] });
    await build("1.1");
    expect(await told("restartNeeds")).toEqual({ requiresReboot: false, units: ["stale.service"] });
    await shell("systemctl restart stale.service && touch /run/reboot-required");
    expect(await told("restartNeeds")).toEqual({ requiresReboot: true, units: [] });
    await shell("systemctl stop stale.service; rm /run/reboot-required");
  });

  it("knows a newer point release, and no other release", async () => {
    const release = async (fields: Readonly<Record<string, string>>): Promise<void> => {
      const text = Object.entries(fields).map(([key, value]) => `${key}: ${value}\n`);
      await session.host.writeFile(
        `/var/lib/apt/lists/test_${fields["Codename"]}_${fields["Version"]}_Release`,
        text.join(""),
      );
    };
    const date = "Sat, 11 Jul 2099 10:16:37 UTC";
    expect((await ask("release")).result).toBe(null);
    const own = async (name: string) => (await shell(`. /etc/os-release; printf %s "$${name}"`)).trim();
    const [Codename, major] = [await own("VERSION_CODENAME"), await own("VERSION_ID")];
    await release({ Origin: "Debian", Codename: "buster", Version: `${Number(major) + 1}.99`, Date: date });
    await release({ Origin: "Acme", Codename, Version: `${major}.100`, Date: date });
    expect((await ask("release")).result).toBe(null);
    await release({ Origin: "Debian", Codename, Version: `${major}.99`, Date: date });
    const expected = { version: `${major}.99`, releaseDate: "2099-07-11", isSecurity: false, changelog: "" };
    expect((await ask("release")).result).toEqual(expected);
    await shell("rm /var/lib/apt/lists/test_*");
  });
});
