import { stripVTControlCharacters } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const ctrlC = "\u0003";

/** What needs a host: a journal, a package manager, and a service that is started again. The rest is in test/api/cli-*. */
describeOnHost("the command line on a host", { checks: ["disk_space", "systemd_failed"] }, (session) => {
  const { atTerminal, inPipe } = commandLineOn(session);
  const { shell } = session;
  const made = (file: string) => eventually(() => shell(`test -e ${file}`), 30_000);

  beforeAll(async () => {
    // A service that is started again is to be found again.
    const { host } = new URL(session.service.url);
    const listen = ["[Service]", `Environment=STEWARD_LISTEN=${host}`, ""].join("\n");
    await session.host.writeFile("/etc/systemd/system/steward.service.d/60-address.conf", listen);
    await session.host.exec(["systemctl", "daemon-reload"]);
  });

  it("logs prints what journalctl prints", async () => {
    await shell("logger -t same -p user.warning 'the same line'; journalctl --sync");
    const theirs = await shell("journalctl -t same -n 1 --no-pager -q");
    await eventually(async () => {
      const { stdout } = await inPipe(["logs", "-t", "same", "-n", "1"]);
      expect(stdout).toBe(theirs);
    });
  });

  it("doctor --fix asks, and restarts a failed service", async () => {
    await session.writeUnits({
      "flaky.service": ["[Service]", "Type=oneshot", "RemainAfterExit=yes", "ExecStart=/usr/bin/test -e /run/well"],
    });
    await shell("systemctl start flaky.service || true; touch /run/well");
    const answer = (text: string) =>
      atTerminal(["doctor", "--check", "systemd_failed", "--fix"], { steps: [{ wait: "[y/N]", send: text }] });
    expect(await answer("\r")).toMatchObject({ code: 1, left: [] });
    expect(await answer("y\r")).toMatchObject({ code: 0, left: [], output: expect.stringContaining("fixed") });
    expect(await shell("systemctl is-active flaky.service")).toBe("active\n");
  });

  it("updates apply shows progress and follows an update to its end, over a restart of the service", async () => {
    const slow = { name: "slow", version: "1.0", place: "main" } as const;
    await makePackageSources(session, [slow]);
    await shell("DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet slow");
    // The update goes on once the service is back.
    const postinst = ["touch /run/at-work", "until test -e /run/go-on; do sleep 0.1; done"];
    await makePackageSources(session, [{ ...slow, version: "1.1", postinst }]);
    await session.host.writeFile("/etc/steward/config.yaml", "updates: { backend: packages }\n");
    await session.service.restart();
    const run = atTerminal(["updates", "apply", "--package", "slow"], {
      steps: [
        { wait: "[y/N]", send: "y\r" },
        { wait: "%", mark: "/run/begun" },
        { wait: "lost the connection", mark: "/run/lost" },
      ],
    });
    await made("/run/begun");
    await made("/run/at-work");
    await session.service.stop();
    await made("/run/lost");
    await session.service.restart();
    await shell("touch /run/go-on");
    const { code, output, left } = await run;
    expect({ code, left, output }).toEqual({
      code: 0,
      left: [],
      output: expect.stringContaining("1 package updated\n"),
    });
    expect(output).toMatch(/ {2}slow 1\.0 → 1\.1\n/);
    expect(stripVTControlCharacters(output)).toMatch(/█+░* \d+ % /);
    const { stdout } = await inPipe(["operations", "--json"]);
    const all = (JSON.parse(stdout) as { operations: { kind: string }[] }).operations;
    // Nothing was begun twice.
    expect(all.filter(({ kind }) => kind === "updates.apply")).toHaveLength(1);
  });

  it("logs -f reports a lost connection, reconnects, misses nothing and ends at Ctrl-C with 130", async () => {
    const run = atTerminal(["logs", "-f", "-n", "1", "-t", "hello"], {
      steps: [
        { wait: "before the loss", mark: "/run/follows" },
        { wait: "steward: lost the connection, making it again\r\n", mark: "/run/alone" },
        { wait: "steward: the connection is back\r\n" },
        { wait: "in between" },
        { wait: "after it", send: ctrlC },
      ],
    });
    await eventually(() => shell("logger -t hello before the loss; test -e /run/follows"), 30_000);
    await session.service.stop();
    await made("/run/alone");
    await shell("logger -t hello in between");
    await session.service.restart();
    await shell("logger -t hello after it");
    const { code, output, left } = await run;
    expect({ code, left }).toEqual({ code: 130, left: [] });
    expect(output.match(/in between|after it/g)).toEqual(["in between", "after it"]);
  });

  it("without a service commands fail in one line, and doctor checks the host itself", async () => {
    await session.service.stop();
    for (const argv of [["status"], ["logs", "-f"], ["services", "restart", "cron"], ["updates", "apply", "--yes"]]) {
      const { exitCode, stdout, stderr } = await inPipe(argv);
      expect([argv, exitCode, stdout, stderr]).toEqual([
        argv,
        2,
        "",
        expect.stringMatching(/^steward: cannot reach the service: [^\n]*is it running\?[^\n]*\)\n$/),
      ]);
    }
    const before = await shell("find /var/lib/steward -printf '%p %T@ %s\\n' | sort");
    const { exitCode, stdout, stderr } = await inPipe(["doctor"], {});
    expect([exitCode <= 1, stderr]).toEqual([
      true,
      expect.stringMatching(/^steward: checking without the service, read-only: /),
    ]);
    expect(stdout).toMatch(/disk_space[\s\S]*of \d+ checks|All healthy: \d+ checks/);
    expect(await shell("find /var/lib/steward -printf '%p %T@ %s\\n' | sort")).toBe(before);
  });
});
