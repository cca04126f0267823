import { beforeAll, describe, expect, it } from "vitest";
import type { LogTemplates } from "#contract/log-exploration.ts";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

/** Two versions of a package: setting up the old one does `repairs`, the new one `breaks`. */
const pair = (name: string, repairs: string, breaks: string): readonly PackageRecipe[] => [
  { name, version: "1.0", place: "main", postinst: [repairs] },
  { name, version: "1.1", place: "main", postinst: [breaks] },
];
const recipes: readonly PackageRecipe[] = [
  ...pair("unmounter", ":", "umount /srv/kept"),
  // As the scripts of daemons do, both versions restart them. Two of the new ones run, and listen no more.
  ...pair(
    "deafener",
    "rm -f /srv/deaf; systemctl restart talker high roamer",
    "touch /srv/deaf; systemctl restart talker high roamer",
  ),
  // The daemon continues with the settings that it has read, and would not start again.
  ...pair("locksmith", ":", "echo 'NoSuchOption yes' > /etc/ssh/sshd_config.d/locksmith.conf"),
  ...["1.0", "1.1"].map(
    (version): PackageRecipe => ({
      name: "reporter",
      version,
      place: "main",
      postinst: ["systemctl daemon-reload; systemctl restart reporter"],
      units: {
        "reporter.service": [
          "[Service]",
          `ExecStart=/bin/sh -c 'echo "<3>row 7 is late"; ${version === "1.0" ? ":" : `for n in 3 4; do echo "<3>cannot open table $$n"; done`}; exec sleep infinity'`,
        ],
      },
    }),
  ),
];

const settings = {
  config: "updates: { guard_minutes: 0.1 }\n",
  checks: ["ssh_config"],
} as const;

describeOnHost("guarded updates", settings, (session) => {
  const { shell } = session;
  // One is among those that the kernel gives out, and that a daemon may have by chance.
  const ports = {
    talker: 20_000 + (process.pid % 5000),
    ssh: 25_000 + (process.pid % 5000),
    high: 60_000 + (process.pid % 900),
  };
  const versionOf = (name: string) => shell(`dpkg-query -W -f '\${Version}' ${name}`);

  const updated = async (name: string) => {
    const result = await session.api.applyUpdates({ body: { packages: [name], guard: true } });
    expect([await versionOf(name), result]).toEqual(["1.0", result]);
    return result;
  };
  const rolledBack = (worse: string, rest: object = {}) => ({
    success: false,
    packages_updated: 0,
    guard: {
      outcome: "rolled_back",
      worse: expect.arrayContaining([expect.stringContaining(worse)]),
      remaining: [],
      ...rest,
    },
  });

  beforeAll(async () => {
    await makePackageSources(session, recipes);
    await session.host.writeFile("/srv/data/answer", "here\n");
    await session.host.writeFile("/srv/page/index.html", "here\n");
    const listen = (port: number) => `python3 -m http.server --bind 127.0.0.1 --directory /srv/page ${port}`;
    const unlessDeaf = (port: number) => [
      "[Service]",
      `ExecStart=/bin/sh -c 'if [ -e /srv/deaf ]; then exec sleep infinity; else exec ${listen(port)}; fi'`,
    ];
    await session.writeUnits({
      "srv-kept.mount": [
        "[Mount]",
        "What=/srv/data",
        "Where=/srv/kept",
        "Type=none",
        "Options=bind",
        "[Install]",
        "WantedBy=multi-user.target",
      ],
      "talker.service": unlessDeaf(ports.talker),
      "high.service": unlessDeaf(ports.high),
      // Has another port after each start.
      "roamer.service": ["[Service]", `ExecStart=/usr/bin/${listen(0)}`],
      "gate.service": [
        "[Service]",
        "RuntimeDirectory=sshd",
        `ExecStart=/usr/sbin/sshd -D -p ${ports.ssh} -o ListenAddress=127.0.0.1`,
      ],
    });
    await shell(
      `dpkg -i ${recipes
        .filter(({ version }) => version === "1.0")
        .map(packageFile)
        .join(" ")} >/dev/null`,
    );
    await shell("systemctl enable --now srv-kept.mount; systemctl start talker high roamer gate");
  });

  describe("are rolled back, and restore", () => {
    it("a mount that was unmounted", async () => {
      const ask = () => shell("cat /srv/kept/answer");
      expect(await ask()).toBe("here\n");
      const worse = "unit srv-kept.mount: was active (mounted), now inactive (dead)";
      expect(await updated("unmounter")).toMatchObject(rolledBack(worse, { restarted: ["srv-kept.mount"] }));
      expect(await ask()).toBe("here\n");
    });

    it("ports of daemons that still run, ignoring one that changes at each start", async () => {
      const ask = () => shell(`curl -s http://127.0.0.1:${ports.talker}/ http://127.0.0.1:${ports.high}/`);
      await eventually(async () => expect(await ask()).toBe("here\nhere\n"));
      const result = await updated("deafener");
      expect(result).toMatchObject(rolledBack("port"));
      expect(result.guard?.worse.toSorted()).toEqual(
        [ports.talker, ports.high].map((port) => `port ${port}/tcp on loopback: python3 listened, now nothing does`),
      );
      expect(await ask()).toBe("here\nhere\n");
    });

    it("an SSH server that would not start with its new settings", async () => {
      const ask = async () => {
        await shell("systemctl restart gate");
        return eventually(() => shell(`ssh-keyscan -p ${ports.ssh} 127.0.0.1 2>/dev/null`));
      };
      expect(await ask()).toContain("ssh-ed25519");
      expect(await updated("locksmith")).toMatchObject(rolledBack("check ssh_config: was warn, now fail"));
      expect(await ask()).toContain("ssh-ed25519");
    });
  });

  it("name the errors that a daemon logs for the first time, as `steward logs --new-since update` does", async () => {
    const { inPipe } = commandLineOn(session);
    const logged = (text: string) =>
      eventually(async () => expect(await shell("journalctl -u reporter -o cat")).toContain(text));
    await logged("row 7 is late");
    const { success, guard } = await session.api.applyUpdates({ body: { packages: ["reporter"], guard: true } });
    expect([await versionOf("reporter"), success, guard]).toEqual(["1.1", true, guard]);
    const { stdout } = await inPipe(["logs", "--new-since", "update", "-p", "err", "--json"]);
    const { templates } = JSON.parse(stdout) as LogTemplates;
    expect(templates).toMatchObject([{ unit: "reporter.service", text: "cannot open table <*>", count: 2 }]);
    const found = templates.map(({ id, unit, text, priority, count }) => ({
      template: id,
      unit,
      text,
      priority,
      count,
    }));
    expect(guard).toEqual({
      outcome: "kept",
      message:
        "nothing is worse than before; 1 kind of errors never logged before: reporter.service: cannot open table <*>",
      worse: [],
      new_errors: found,
    });
    const entries = await inPipe(["logs", "--template", templates[0]?.id ?? "", "-n", "all", "-o", "cat"]);
    expect(entries.stdout).toBe("cannot open table 3\ncannot open table 4\n");
  });
});
