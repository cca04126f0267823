import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AvailableUpdates, PackageChange, TransactionPlan, TransactionResult } from "#domain/ports/packages.ts";
import { createRandom } from "../support/random.ts";
import { seed } from "../support/seed.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { kills } from "./support/kills.ts";
import { at, makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { createPackageWork, packageVerbs } from "./support/package-work.ts";
import { freePort } from "./support/plugin-peers.ts";
import { describeOnHost } from "./support/session.ts";

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
const special = [...torn, ...failing, ...broken, ...rival, ...linked, ...slow];

const adapter = createPackageWork("apt", "/");

/** Takes a lock as apt does, and keeps it until it is ended. */
const locker = `import fcntl, time
lock = open("/var/lib/dpkg/lock-frontend", "w")
fcntl.lockf(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
open("/run/locked", "w").close()
time.sleep(600)
`;

/** Its daemon writes there when it ends, a minute after somebody has asked it. */

describeOnHost("apt as the package manager of updates", (session) => {
  const { shell } = session;
  const { work, result, all } = packageVerbs(session, adapter);
  const simulation = (
    type: "packages" | "system" | "all" = "packages",
    isSecurityOnly = false,
    names?: readonly string[],
  ) => ({ verb: "simulate", request: { type, isSecurityOnly, names } }) as const;
  const plan = (...args: Parameters<typeof simulation>) => result<TransactionPlan>(simulation(...args));
  const why = async (...args: Parameters<typeof simulation>) => (await work(simulation(...args))).error;
  const commit = (given: TransactionPlan, id = "test") => work<TransactionResult>({ verb: "commit", id, plan: given });
  const repair = (id = "test") => result<TransactionResult>({ verb: "repair", id });
  const audit = () => result<readonly string[]>({ verb: "audit" });
  const brief = ({ changes }: Pick<TransactionPlan, "changes">): readonly string[] =>
    changes.map(({ name, from, to }: PackageChange) => `${name} ${from ?? "-"} ${to ?? "-"}`);

  const versions = async (...names: readonly string[]): Promise<Readonly<Record<string, string>>> => {
    const installed = (await all()).filter(({ isUnfinished = false }) => !isUnfinished);
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

  describe("that is asked", () => {
    it("has what can be updated, what is held and how old the lists are", async () => {
      const { updates, held, listsAt } = await result<AvailableUpdates>({ verb: "updates" });
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

    it("has what is installed, and which of it was asked for", async () => {
      const installed = await all();
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

    it("has a plan for each kind of request, and changes nothing", async () => {
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
      expect(changesSince(before, await fileTree(session), { ignore: [/^\/var\/log\/journal/] })).toEqual({
        added: [],
        removed: [],
        changed: [],
      });
    });

    it("has a reason where a request cannot be met", async () => {
      await installOld([...broken, ...linked]);
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

    it("removes packages only in an upgrade of the system", async () => {
      await installOld(rival);
      expect(brief(await plan("packages")).join()).not.toContain("rival");
      expect(await why("packages", false, ["rival"])).toMatch(/^UpdateRefused: /);
      const planned = await plan("system", false, ["rival"]);
      expect(brief(planned)).toEqual(["plain 1.0 -", "rival 1.0 1.1"]);
      expect((await commit(planned)).result).toEqual({ isDone: true, reason: "" });
      expect(await versions("rival", "plain")).toEqual({ rival: "1.1", plain: "none" });
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
      expect(Math.max(...steps)).toBe(100);
      expect(await audit()).toEqual([]);
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
  });

  describe("fails before anything is changed", () => {
    const untouched = async (): Promise<void> => {
      expect(await versions("plain", "shield")).toEqual({ plain: "1.0", shield: "1.0" });
      expect(await audit()).toEqual([]);
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

    it("when there is no space for the downloads", async () => {
      await overHttp(async () => {
        await shell("mount -t tmpfs -o size=4k tmpfs /var/cache/apt/archives");
        try {
          const { error } = await commit(await plan("packages"));
          expect(error).toMatch(/^UpdateRefused: not enough disk space: \/var\/cache\/apt\/archives has /);
          const modest = { ...(await plan("packages")), downloadBytes: 1 };
          const { result } = await commit(modest);
          expect(result).toMatchObject({ isDone: false, reason: expect.stringMatching(/space|No space left/) });
        } finally {
          await shell("umount /var/cache/apt/archives");
        }
      });
      await untouched();
    });

    it("while another process holds the lock, which it names", async () => {
      const planned = await plan("packages");
      await session.host.writeFile("/srv/locker.py", locker);
      await shell("rm -f /run/locked && systemd-run --quiet --collect --unit=locker python3 /srv/locker.py");
      try {
        await eventually(() => shell("test -e /run/locked"));
        const pid = Number(await shell("systemctl show --property=MainPID --value locker.service"));
        const { error } = await commit(planned);
        expect(error).toContain(`PackagesLocked: python3 (process ${pid}) holds the lock`);
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
      expect(await audit()).toEqual(["failing 1.1 is half-configured"]);
      expect(await versions("failing", "plain")).toEqual({ failing: "none", plain: "1.1" });
      expect(await all()).toContainEqual(
        expect.objectContaining({ name: "failing", version: "1.1", isUnfinished: true }),
      );
      expect(await repair()).toMatchObject({
        isDone: false,
        reason: expect.stringContaining("cannot reach the moon"),
      });
      await shell("sed -i 's/exit 3/exit 0/' /var/lib/dpkg/info/failing.postinst");
      expect(await repair()).toEqual({ isDone: true, reason: "" });
      expect(await audit()).toEqual([]);
      expect(await versions("failing")).toEqual({ failing: "1.1" });
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
        const running = commit(planned, "torn");
        await eventually(() => shell("pgrep --exact preinst"));
        await shell("systemctl kill --kill-whom=all --signal=KILL steward-packages-torn.service");
        const { result } = await running;
        expect(result).toMatchObject({ isDone: false, reason: "it was ended by SIGKILL" });
      } finally {
        await shell("rm /srv/wait");
      }
      expect((await audit()).join()).toContain("torn");
      expect(await repair("torn")).toEqual({ isDone: true, reason: "" });
      const now = await versions("torn", "plain");
      const rest = { ...planned, changes: planned.changes.filter(({ name, to }) => now[name] !== to) };
      expect((await commit(rest, "torn")).result).toEqual({ isDone: true, reason: "" });
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
        // Only the process that carries it out, not the package manager.
        const killing = ["timeout", "--foreground", "--signal=KILL", String(0.15 + random() * 2)];
        const argv = [...killing, ...adapter.command({ verb: "commit", id, plan: planned })];
        await session.host.exec(argv, { allowFailure: true });
        if (round % 2 === 1)
          await shell("systemctl kill --kill-whom=all --signal=KILL 'steward-packages-*' 2>&1 || true");
        await result({ verb: "settle", id });
        expect(await repair(id)).toEqual({ isDone: true, reason: "" });
        const now = await versions(...planned.changes.map(({ name }) => name));
        const rest = { ...planned, changes: planned.changes.filter(({ name, to }) => now[name] !== to) };
        expect((await commit(rest, id)).result).toEqual({ isDone: true, reason: "" });
        expect(await audit()).toEqual([]);
        expect(await state()).toBe(end);
      }
    });
  });
});
