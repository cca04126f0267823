import { stripVTControlCharacters } from "node:util";
import { expect, it } from "vitest";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { buildPackage, makePackageSources, type PackageRecipe } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const recipe = (name: string, version: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name,
  version,
  place: "main",
  ...rest,
});

describeOnHost("the command line on a host", (session) => {
  const { atTerminal, inPipe } = commandLineOn(session);

  it("follows the journal: what logger writes is there, Ctrl-C ends it with 130", async () => {
    const following = atTerminal(["logs", "-f", "-n", "1", "-t", "hello"], {
      steps: [{ wait: "from a person", send: "\u0003" }],
    });
    await eventually(async () => {
      await session.shell("logger -t other noise; logger -p user.err -t hello from a person");
      expect(
        await Promise.race([following.then(() => "over"), new Promise((resolve) => setTimeout(resolve, 500, "runs"))]),
      ).toBe("over");
    });
    const { code, output, left } = await following;
    expect({ code, left }).toEqual({ code: 130, left: [] });
    expect(output).toMatch(/\w{3} \d\d \d\d:\d\d:\d\d \S+ hello(\[\d+\])?: \S*from a person/);
    expect(output).toContain("\u001b[31mfrom a person\u001b[39m\n");
    expect(output).not.toContain("noise");
  });

  it("prints what journalctl prints", async () => {
    await session.shell("logger -t same -p user.warning 'the same line'; journalctl --sync");
    const theirs = await session.shell("journalctl -t same -n 1 --no-pager -q");
    await eventually(async () => {
      const { stdout } = await inPipe(["logs", "-t", "same", "-n", "1"]);
      expect(stdout).toBe(theirs);
    });
  });

  it("restarts a service, and mends a failed one after it was asked", async () => {
    await session.writeUnits({
      "flaky.service": ["[Service]", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=/usr/bin/test -e /run/well"],
    });
    await session.shell("systemctl start flaky.service || true; touch /run/well");
    const no = await atTerminal(["doctor", "--check", "systemd_failed", "--fix"], {
      steps: [{ wait: "[y/N]", send: "\r" }],
    });
    expect(no).toMatchObject({ code: 1, left: [] });
    const yes = await atTerminal(["doctor", "--check", "systemd_failed", "--fix"], {
      steps: [{ wait: "[y/N]", send: "y\r" }],
    });
    expect(yes).toMatchObject({ code: 0, left: [], output: expect.stringContaining("fixed") });
    expect((await session.shell("systemctl is-active flaky.service")).trim()).toBe("active");
    expect(await inPipe(["services", "restart", "cron"])).toMatchObject({
      exitCode: 0,
      stdout: expect.stringMatching(/^cron\.service restarted, it is active \(running\)\n$/),
    });
  });

  it("updates: shows the plan, asks, shows how it comes along, goes on after Ctrl-C, and is found again", async () => {
    await makePackageSources(session, [recipe("quick", "1.0"), recipe("slow", "1.0")]);
    await session.host.exec(["apt-get", "install", "--yes", "--quiet", "quick", "slow"], {
      env: { DEBIAN_FRONTEND: "noninteractive" },
    });
    await buildPackage(session, recipe("quick", "1.1"));
    await makePackageSources(session, [recipe("slow", "1.1", { postinst: ["sleep 8"] })]);
    const listed = await inPipe(["updates", "--refresh"]);
    expect(listed.stdout).toMatch(/quick +1\.0 +1\.1\n/);

    const quick = await atTerminal(["updates", "apply", "--package", "quick"], {
      steps: [{ wait: "[y/N]", send: "y\r" }],
    });
    expect(quick).toMatchObject({ code: 0, left: [] });
    expect(stripVTControlCharacters(quick.output)).toMatch(/█+░* \d+ % /);
    expect(quick.output).toMatch(/ {2}quick 1\.0 → 1\.1\n/);

    const left = await atTerminal(["updates", "apply"], {
      steps: [
        { wait: "[y/N]", send: "y\r" },
        { wait: "slow", send: "" },
        { wait: "%", send: "\u0003" },
      ],
    });
    const id = /steward operations watch (\S+)/.exec(left.output)?.[1] ?? "";
    expect(left).toMatchObject({ code: 130, left: [], output: expect.stringContaining("the operation goes on") });
    // The service may even be restarted: what has begun goes on, and is found again.
    await session.service.restart();
    expect(await atTerminal(["operations", "watch", id])).toMatchObject({
      code: 0,
      output: expect.stringContaining(`updates.apply ${id}: done`),
    });
    expect(await session.shell("dpkg-query -W slow")).toBe("slow\t1.1\n");

    const [snapshot = ""] = /\d{8}-\d{6}/.exec((await inPipe(["snapshots"])).stdout) ?? [];
    expect((await atTerminal(["rollback", snapshot], { steps: [{ wait: "[y/N]", send: "n\r" }] })).code).toBe(1);
    expect((await inPipe(["rollback", snapshot])).exitCode).toBe(2);
  });

  it("says in one line that there is no service, and looks with its own eyes where that is enough", async () => {
    await session.service.stop();
    for (const argv of [["status"], ["logs", "-f"], ["services", "restart", "cron"], ["updates", "apply", "--yes"]]) {
      const { exitCode, stdout, stderr } = await inPipe(argv);
      expect([argv, exitCode, stdout, stderr]).toEqual([
        argv,
        2,
        "",
        expect.stringMatching(/^steward: cannot reach the service: [^\n]*is it running\?\)\n$/),
      ]);
    }
    const before = await session.shell("find /var/lib/steward -printf '%p %T@ %s\\n' | sort");
    const { exitCode, stdout, stderr } = await inPipe(["doctor"], {});
    expect([exitCode <= 1, stderr]).toEqual([
      true,
      expect.stringMatching(/^steward: checking without the service, read-only: /),
    ]);
    expect(stdout).toMatch(/disk_space[\s\S]*systemd_failed[\s\S]*of \d+ checks|All healthy: \d+ checks/);
    expect(await session.shell("find /var/lib/steward -printf '%p %T@ %s\\n' | sort")).toBe(before);
    await session.service.restart();
  });
});
