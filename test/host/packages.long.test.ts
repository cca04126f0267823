import { afterEach, beforeAll, describe, expect, it } from "vitest";
import type { FixResult } from "#contract/checks.ts";
import type { Plan } from "#contract/operation.ts";
import { eventually } from "./support/eventually.ts";
import { changesSince, fileTree } from "./support/file-tree.ts";
import { at, makePackageSources, packageFile } from "./support/package-sources.ts";
import { createPackageWork, packageVerbs } from "./support/package-work.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";

const steady = at("steady", "1.0");
const newer = at("steady", "1.1", { place: "security" });
const needed = at("needed", "1.0");
const needy = at("needy", "1.0", { place: "loose", control: ["Depends: needed (>= 1.0)"] });
const hopeless = at("hopeless", "1.0", { place: "loose", control: ["Depends: nowhere-to-be-had"] });
const waits = "while test -e /srv/wait; do sleep 0.1; done";
/** Being set up, it waits for as long as the file is there. */
const slow = at("slow", "1.0", { place: "loose", postinst: ["echo slow begins", waits, "echo slow ends"] });
const failing = at("failing", "1.0", { place: "loose", postinst: ["echo 'cannot reach the moon' >&2", "exit 3"] });
/** Before it is unpacked, it waits for as long as the file is there. */
const torn = at("torn", "1.0", { preinst: [waits] });
const all = [steady, newer, needed, needy, hopeless, slow, failing, torn];

/** Takes a lock as apt and dpkg do, and says so. */
const locker = (path: string): string =>
  [
    "import fcntl, os, time",
    `lock = os.open("${path}", os.O_RDWR | os.O_CREAT, 0o640)`,
    "fcntl.lockf(lock, fcntl.LOCK_EX)",
    'open("/run/locked", "w").close()',
    "time.sleep(600)",
    "",
  ].join("\n");

/** What changes when packages do: the records of dpkg and apt, and what debconf and snapper, which apt calls on the host, keep. */
const ownDirectories = [
  /^\/var\/lib\/(dpkg|apt)\//,
  /^\/var\/cache\/(apt|debconf)\//,
  /^\/var\/log\/(dpkg\.log|apt\/|journal\/|snapper\.log)/,
  /^\/var\/tmp\/snapper-apt$/,
];

const isResult = (answer: FixResult | Plan): answer is FixResult => "success" in answer;

describeOnHost("packages of a host with apt", { config: "updates: { guard_minutes: 0.05 }\n" }, (session) => {
  const check = (id: string) => session.api.getCheck({ params: { check_id: id } });
  const ask = (id: string, body: { confirm?: boolean } = {}, isDryRun = false) =>
    session.api.fixCheck({ params: { check_id: id }, query: { dry_run: isDryRun }, body });
  const fix = async (id: string, body: { confirm?: boolean } = {}): Promise<FixResult> => {
    const answer = await ask(id, body);
    if (!isResult(answer)) throw new Error("the answer is a plan");
    return answer;
  };
  const stateOf = async (name: string): Promise<string> =>
    (await session.shell(`dpkg-query --show --showformat='\${Status}' ${name} 2>/dev/null || true`)).trim();
  const dpkg = (...words: readonly string[]) => session.host.exec(["dpkg", ...words], { allowFailure: true });

  /** Begins to install a package, and kills dpkg when it has come to the script that waits. */
  const interrupt = async (recipe = slow, script = "slow.postinst"): Promise<void> => {
    await session.shell("touch /srv/wait");
    await session.shell(`systemd-run --quiet --collect --unit=installer dpkg --install ${packageFile(recipe)}`);
    await eventually(async () => expect(await session.shell(`pgrep --exact ${script}`)).not.toBe(""));
    await session.shell(
      "systemctl kill --kill-whom=all --signal=KILL installer.service; systemctl reset-failed installer.service || true",
    );
    await session.shell("rm -f /srv/wait");
  };

  beforeAll(() => makePackageSources(session, all));
  afterEach(async () => {
    await session.shell(
      "rm -f /srv/wait; systemctl stop locker.service 2>/dev/null || true; apt-mark unhold steady >/dev/null 2>&1 || true",
    );
    await dpkg("--configure", "--pending");
    await dpkg("--purge", "--force-depends", "needy", "hopeless", "slow", "failing", "needed", "steady", "torn");
    expect(await check("apt_status")).toMatchObject({ status: "pass" });
  });

  describe("apt_status", () => {
    it("package_status: dpkg killed while a package is set up, then fixed", async () => {
      expect(await check("apt_status")).toMatchObject({ status: "pass", fixable: false });
      await interrupt();
      expect(await check("apt_status")).toMatchObject({
        status: "fail",
        message: expect.stringMatching(
          /^The package manager was stopped in the middle of its work: slow \(half-configured\)/,
        ),
        fixable: true,
        fix_id: "apt_fix_dpkg",
        details: { interrupted: true, unfinished: [{ name: "slow", version: "1.0", state: "half-configured" }] },
      });

      const before = await fileTree(session);
      expect(await ask("apt_status", {}, true)).toMatchObject({
        dry_run: true,
        fix_id: "apt_fix_dpkg",
        risk: "moderate",
        steps: ["finish the installation of slow 1.0 (dpkg --configure -a)"],
        packages: ["slow"],
        bytes: 0,
      });
      const ignore = [/^\/var\/log\/journal\//];
      expect(changesSince(before, await fileTree(session), { ignore })).toEqual({
        added: [],
        removed: [],
        changed: [],
      });

      expect(await fix("apt_status")).toMatchObject({
        success: true,
        steps: [{ status: "done" }],
        check: { status: "pass" },
      });
      expect((await check("apt_status")).status).toBe("pass");
      expect(await stateOf("slow")).toBe("install ok installed");
      expect(changesSince(before, await fileTree(session), { ignore: ownDirectories })).toEqual({
        added: [],
        removed: [],
        changed: [],
      });
    });

    it("reports the message of a package that can never be configured", async () => {
      await dpkg("--install", packageFile(failing));
      expect(await check("apt_status")).toMatchObject({
        status: "fail",
        message: "1 package is not fully installed and may not work: failing (half-configured)",
        fix_id: "apt_fix_dpkg",
      });
      const result = await fix("apt_status");
      expect(result).toMatchObject({ success: false, steps: [{ status: "failed" }], check: { status: "fail" } });
      expect(result.message).toMatch(/failing: .*post-installation script.* exit status 3 \(cannot reach the moon\)/);
    });

    it("package_status: a package whose dependency is missing, then fixed", async () => {
      await dpkg("--install", packageFile(needy));
      expect(await check("apt_status")).toMatchObject({
        status: "fail",
        message: expect.stringContaining("needy (Depends: needed (>= 1.0))"),
        fix_id: "apt_fix_dependencies",
      });
      expect(await ask("apt_status", {}, true)).toMatchObject({
        risk: "risky",
        steps: ["install needed 1.0, set up needy (apt-get --fix-broken install, removing nothing)"],
        packages: ["needed", "needy"],
        bytes: 0,
      });
      expect(await refusal(ask("apt_status"))).toMatchObject({
        code: "VALIDATION_ERROR",
        details: { field: "confirm" },
      });
      expect(await stateOf("needed")).not.toBe("install ok installed");

      const before = await fileTree(session);
      expect(await fix("apt_status", { confirm: true })).toMatchObject({ success: true, check: { status: "pass" } });
      expect((await check("apt_status")).status).toBe("pass");
      expect(await stateOf("needed")).toBe("install ok installed");
      expect(await stateOf("needy")).toBe("install ok installed");
      const changes = changesSince(before, await fileTree(session), { ignore: ownDirectories });
      expect(changes).toEqual({
        added: ["/usr/share/needed", "/usr/share/needed/version"],
        removed: [],
        changed: [],
      });
    });

    it("removes nothing where a dependency is not available", async () => {
      await dpkg("--install", "--force-depends", packageFile(hopeless));
      const found = await check("apt_status");
      expect(found).toMatchObject({ status: "fail", fix_id: "apt_fix_dependencies" });
      const result = await fix("apt_status", { confirm: true });
      expect(result).toMatchObject({ success: false, steps: [], check: { status: "fail" } });
      expect(result.message).toMatch(/did nothing: apt would have to remove hopeless/);
      expect(await stateOf("hopeless")).toBe("install ok installed");
    });

    it("installs again what was only partly unpacked", async () => {
      await dpkg("--install", packageFile(needed));
      await session.shell(
        "sed -i '/^Package: needed$/,/^$/s/^Status: .*/Status: install reinstreq half-installed/' /var/lib/dpkg/status",
      );
      expect(await check("apt_status")).toMatchObject({
        status: "fail",
        message: expect.stringMatching(/^needed was only partly unpacked/),
        fix_id: "apt_fix_dependencies",
      });
      expect(await fix("apt_status", { confirm: true })).toMatchObject({ success: true, check: { status: "pass" } });
      expect(await stateOf("needed")).toBe("install ok installed");
    });

    it("repairs a package whose unpacking was killed in two steps, each of which it names", async () => {
      await interrupt(torn, "preinst");
      expect(await check("apt_status")).toMatchObject({ status: "fail", details: { interrupted: true } });
      const first = await fix("apt_status");
      expect(first).toMatchObject({
        fix_id: "apt_fix_dpkg",
        steps: [{ status: "done" }],
        check: {
          status: "fail",
          fix_id: "apt_fix_dependencies",
          message: expect.stringMatching(/^torn was only partly unpacked/),
        },
      });
      const second = await fix("apt_status", { confirm: true });
      expect(second).toMatchObject({ fix_id: "apt_fix_dependencies", success: true, check: { status: "pass" } });
      expect(await stateOf("torn")).toBe("install ok installed");
    });

    it("package_status: a held package, until it is no longer held", async () => {
      await dpkg("--install", packageFile(steady));
      await session.host.exec(["apt-mark", "hold", "steady"]);
      expect(await check("apt_status")).toMatchObject({
        status: "warn",
        message: expect.stringMatching(/^1 package held at its version and not updated: steady/),
        fixable: false,
      });
      await session.host.exec(["apt-mark", "unhold", "steady"]);
      expect(await check("apt_status")).toMatchObject({ status: "pass" });
    });

    it("reports no fault while dpkg is at work", async () => {
      await session.shell("touch /srv/wait");
      await session.shell(`systemd-run --quiet --collect --unit=installer dpkg --install ${packageFile(slow)}`);
      await eventually(async () => expect(await session.shell("pgrep -x slow.postinst")).not.toBe(""));
      expect(await check("apt_status")).toMatchObject({
        status: "pass",
        message: expect.stringMatching(/^dpkg \(process \d+\) is changing packages right now$/),
      });
      await session.shell("rm /srv/wait");
      await eventually(async () => expect(await stateOf("slow")).toBe("install ok installed"));
    });
  });

  describe("locks and other fixes", () => {
    const lock = async (path: string): Promise<void> => {
      await session.host.writeFile("/srv/locker.py", locker(path));
      await session.shell("rm -f /run/locked && systemd-run --quiet --collect --unit=locker python3 /srv/locker.py");
      await eventually(() => session.shell("test -e /run/locked"));
    };

    it("waits for a lock, then names who holds it and leaves the lock alone", async () => {
      await dpkg("--install", packageFile(failing));
      await lock("/var/lib/dpkg/lock-frontend");
      const pid = (await session.shell("systemctl show --property=MainPID --value locker.service")).trim();
      // The service waits for a minute, the adapter alone for three seconds.
      const { error } = await packageVerbs(session, createPackageWork("apt", "/")).work({ verb: "finish" });
      expect(error).toContain(`python3 (process ${pid}) holds the lock of the package manager`);
      await session.shell("test -e /var/lib/dpkg/lock-frontend && systemctl is-active locker.service");
    });

    it("continues when the lock is released", async () => {
      await interrupt();
      await lock("/var/lib/dpkg/lock-frontend");
      let isOver = false;
      const running = fix("apt_status").finally(() => {
        isOver = true;
      });
      // The privileged side is at work, which it cannot end before the lock is released.
      const tasks = "systemctl list-units --plain --no-legend --state=active 'steward-task@*'";
      await eventually(async () => expect(await session.shell(tasks)).not.toBe(""));
      expect(isOver).toBe(false);
      await session.host.exec(["systemctl", "stop", "locker.service"]);
      expect(await running).toMatchObject({ success: true, check: { status: "pass" } });
    });

    it("refuses a second fix of packages while one runs", async () => {
      await interrupt();
      await session.shell("touch /srv/wait");
      const first = fix("apt_status");
      await eventually(async () => expect(await session.shell("pgrep -x slow.postinst")).not.toBe(""));
      await session.shell("touch -d '9 days ago' /var/lib/apt/lists; rm -f /var/lib/apt/periodic/*");
      expect(await refusal(ask("security_updates"))).toMatchObject({
        code: "CONFLICT",
        details: { retryable: true },
      });
      await session.shell("rm /srv/wait");
      expect(await first).toMatchObject({ success: true });
      expect(await fix("security_updates")).toMatchObject({ success: true });
    });

    it("lets dpkg finish when the service is killed", async () => {
      await interrupt();
      await session.shell("touch /srv/wait");
      const lost = fix("apt_status").then(
        () => "answered",
        () => "lost",
      );
      await eventually(async () => expect(await session.shell("pgrep -x slow.postinst")).not.toBe(""));
      const dpkgPid = (await session.shell("pgrep -x dpkg")).trim();
      await session.host.exec(["systemctl", "kill", "--signal=KILL", "steward.service"]);
      expect(await lost).toBe("lost");
      await session.service.restart();
      expect((await session.shell("pgrep -x dpkg")).trim()).toBe(dpkgPid);
      await session.shell("rm /srv/wait");
      await eventually(async () => expect(await stateOf("slow")).toBe("install ok installed"));
      await eventually(async () =>
        expect(await check("apt_status")).toMatchObject({
          status: "pass",
          message: expect.stringContaining("all in order"),
        }),
      );
    });
  });

  describe("security_updates", () => {
    it("security_updates: a security update in the lists, until it is installed", async () => {
      expect(await check("security_updates")).toMatchObject({
        status: "pass",
        message: "No security update is pending",
      });
      await dpkg("--install", packageFile(steady));
      expect(await check("security_updates")).toMatchObject({
        status: "warn",
        message: "1 security update is not installed: steady",
        fixable: true,
        fix_id: "apply_security_updates",
        details: {
          pending: 1,
          updates: [
            {
              name: "steady",
              architecture: "all",
              installed: "1.0",
              candidate: "1.1",
              suites: ["stable-security"],
              held: false,
            },
          ],
        },
      });
      await session.host.exec(["apt-mark", "hold", "steady"]);
      expect(await check("security_updates")).toMatchObject({
        status: "warn",
        details: { pending_held: 1, updates: [{ held: true }] },
      });
      await session.host.exec(["apt-mark", "unhold", "steady"]);
      await session.shell("DEBIAN_FRONTEND=noninteractive apt-get --quiet --yes upgrade");
      expect(await check("security_updates")).toMatchObject({ status: "pass" });
    });

    it("security_updates: package lists that are nine days old, then downloaded", async () => {
      await session.shell("touch -d '9 days ago' /var/lib/apt/lists; rm -f /var/lib/apt/periodic/*");
      // What the daily job leaves, also where it reached no server.
      await session.shell("touch /var/lib/apt/periodic/update-stamp");
      expect(await check("security_updates")).toMatchObject({
        status: "warn",
        message: expect.stringMatching(/^The package lists are 9 days old/),
        fix_id: "refresh_package_lists",
        fixable: true,
      });
      const before = await fileTree(session);
      expect(await ask("security_updates", {}, true)).toMatchObject({
        risk: "safe",
        steps: ["download the package lists (apt-get update)"],
      });
      expect(changesSince(before, await fileTree(session), { ignore: [/^\/var\/log\/journal\//] })).toEqual({
        added: [],
        removed: [],
        changed: [],
      });
      expect(await fix("security_updates")).toMatchObject({ success: true, check: { status: "pass" } });
      expect((await check("security_updates")).status).toBe("pass");
      expect(changesSince(before, await fileTree(session), { ignore: ownDirectories })).toEqual({
        added: [],
        removed: [],
        changed: [],
      });
    });

    it("says which source does not answer", async () => {
      await session.shell(
        "mv /srv/packages/security /srv/packages/gone; touch -d '9 days ago' /var/lib/apt/lists; rm -f /var/lib/apt/periodic/*",
      );
      const result = await fix("security_updates");
      expect(result).toMatchObject({ success: false, steps: [{ status: "failed" }] });
      expect(result.message).toContain("Failed to fetch file:/srv/packages/security/");
      await session.shell("mv /srv/packages/gone /srv/packages/security");
      expect(await fix("security_updates")).toMatchObject({ success: true });
    });
  });
});
