import { stripVTControlCharacters } from "node:util";
import { beforeAll, expect, it } from "vitest";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

/** What needs a host: a package manager, and a service that is started again. The rest is in test/api/cli-* and test/process/cli. */
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

  it("updates apply shows progress and follows an update to its end, over a restart of the service", async () => {
    const slow = { name: "slow", version: "1.0", place: "main" } as const;
    await makePackageSources(session, [slow]);
    await shell("DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet slow");
    // The update continues once the service is back.
    const postinst = ["touch /run/at-work", "until test -e /run/go-on; do sleep 0.1; done"];
    await makePackageSources(session, [{ ...slow, version: "1.1", postinst }]);
    await session.host.writeFile("/etc/steward/config.yaml", "updates: { backend: packages }\n");
    await session.service.restart();
    const run = atTerminal(["updates", "apply", "--package", "slow"], {
      steps: [
        { wait: "[y/N]", send: "y\r" },
        { wait: "%", mark: "/run/started" },
        { wait: "lost the connection", mark: "/run/lost" },
      ],
    });
    await made("/run/started");
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
    // Nothing was started twice.
    expect(all.filter(({ kind }) => kind === "updates.apply")).toHaveLength(1);
  });

  it("without a service doctor checks the host itself, and writes nothing", async () => {
    await session.service.stop();
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
