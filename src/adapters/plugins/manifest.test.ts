import { describe, expect, it } from "vitest";
import { faultText, type ManifestReading, printable, readManifest } from "./manifest.ts";

const directory = "/etc/steward/plugins/backup-age";
const least = ["name: backup-age", 'version: "1"', "type: check", "exec: check.sh"];
const read = (...lines: readonly string[]): ManifestReading => readManifest(`${lines.join("\n")}\n`, directory);
const faultOf = (reading: ManifestReading): string => ("faults" in reading ? faultText(reading.faults) : "no fault");

describe("the manifest of a plugin", () => {
  it("is read whole", () => {
    const reading = read(
      "name: backup-age",
      "version: 1.0.0",
      "type: check",
      "author: Example",
      "description: Age of the newest backup",
      "exec: bin/check.sh",
      'args: ["--dir", "/srv/backup"]',
      "timeout: 5m",
      "permissions: { user: root, network: local, read: [/srv/backup], write: [/etc/x], memory: 1G, tasks: 8 }",
      "check: { title: Age of the backup, severity: high, interval: 15m, output: json, guards_updates: true }",
    );
    expect(reading).toEqual({
      manifest: {
        name: "backup-age",
        version: "1.0.0",
        author: "Example",
        description: "Age of the newest backup",
        command: [`${directory}/bin/check.sh`, "--dir", "/srv/backup"],
        timeoutMs: 300_000,
        permissions: {
          user: "root",
          network: "local",
          read: ["/srv/backup"],
          write: ["/etc/x"],
          memoryBytes: 2 ** 30,
          tasks: 8,
        },
        role: {
          type: "check",
          title: "Age of the backup",
          severity: "high",
          intervalMs: 900_000,
          output: "json",
          guardsUpdates: true,
        },
      },
    });
  });

  it("has the least rights by default", () => {
    expect(read(...least)).toEqual({
      manifest: {
        name: "backup-age",
        version: "1",
        author: "",
        description: "",
        command: [`${directory}/check.sh`],
        timeoutMs: 30_000,
        permissions: { user: undefined, network: "none", read: [], write: [], memoryBytes: 2 ** 28, tasks: 64 },
        role: {
          type: "check",
          title: "backup-age",
          severity: "medium",
          intervalMs: undefined,
          output: "nagios",
          guardsUpdates: false,
        },
      },
    });
  });

  it("has a section for each type", () => {
    const roleOf = (...lines: readonly string[]) => {
      const reading = read("name: a", 'version: "1"', "exec: run", ...lines);
      return "manifest" in reading ? reading.manifest.role : faultText(reading.faults);
    };
    expect(roleOf("type: command", "command: { usage: '[--all]' }")).toEqual({ type: "command", usage: "[--all]" });
    expect(roleOf("type: command")).toEqual({ type: "command", usage: undefined });
    const hook = { type: "hook", events: ["pre_update", "post_fix"], onFailure: "allow" };
    expect(roleOf("type: hook", "hook: { events: [pre_update, post_fix] }")).toEqual(hook);
    expect(roleOf("type: hook", "hook: { events: [pre_update, post_fix], on_failure: veto }")).toEqual({
      ...hook,
      onFailure: "veto",
    });
    expect(roleOf("type: hook")).toBe("plugin.yaml:1:1: hook: must be given, with events");
    expect(roleOf("type: hook", "hook: { events: [] }")).toMatch(/hook\.events: must not be empty/);
  });

  it.each([
    ["an unknown key", ["colour: blue"], "plugin.yaml:5:1: colour: unknown setting"],
    ["one further inside", ["check: { warn: 3 }"], "plugin.yaml:5:10: check.warn: unknown setting"],
    [
      "a part of another type",
      ["hook: { events: [pre_fix] }"],
      "plugin.yaml:5:1: hook: belongs to a plugin of type hook, and this one is a check",
    ],
    [
      "a wrong word",
      ["permissions:", "  network: some"],
      "plugin.yaml:6:12: permissions.network: must be one of none, local, full",
    ],
    ["another user", ["permissions: { user: www-data }"], "plugin.yaml:5:22: permissions.user: must be one of root"],
    ["too long a time", ["timeout: 2h"], "plugin.yaml:5:10: timeout: must be 1h at most"],
    ["too seldom a check", ["check: { interval: 30d }"], "plugin.yaml:5:20: check.interval: must be 7d at most"],
    ["too little memory", ["permissions: { memory: 1M }"], "plugin.yaml:5:24: permissions.memory: must be 16M to 64G"],
    [
      "a directory of the kernel",
      ["permissions: { read: [/proc/1] }"],
      "plugin.yaml:5:23: permissions.read.0: is in /proc, which no permission opens",
    ],
    [
      "the whole host to write",
      ["permissions: { write: [/srv, /var/spool] }"],
      "plugin.yaml:5:30: permissions.write.1: has to do with /var/spool/cron: anyone who may change that is as good as root, so it takes user: root",
    ],
  ])("is refused with its place for %s", (_, lines, fault) => {
    expect(faultOf(read(...least, ...lines))).toBe(fault);
  });

  it.each(["../run", "/bin/ls", "a/../../b", "./../run", "././run", "run;id", "a b", "", ".", "a//b", "-rf=x"])(
    "is refused with an executable outside its directory: %j",
    (exec) => {
      expect(faultOf(read(...least.slice(0, 3), `exec: ${JSON.stringify(exec)}`))).toMatch(
        /:4:7: exec: must look like "\.\/check\.sh"/,
      );
    },
  );

  it.each([
    ["run", "/etc/steward/plugins/backup-age/run"],
    ["./run", "/etc/steward/plugins/backup-age/run"],
    ["./bin/run.sh", "/etc/steward/plugins/backup-age/bin/run.sh"],
  ])("has an executable %s in its directory", (exec, program) => {
    const reading = read(...least.slice(0, 3), `exec: ${exec}`);
    expect("manifest" in reading && reading.manifest.command).toEqual([program]);
  });

  it.each(["/", "/srv/../etc", "srv", "/a b", "/a:b", '/a"b', "/a%b", "/a$b", "/a/", "/a//b", "/a\\x20"])(
    "is refused with the path %j",
    (path) => {
      const fault = faultOf(read(...least, `permissions: { read: [${JSON.stringify(path)}] }`));
      expect(fault).toMatch(/permissions\.read\.0: must look like "\/srv\/data"/);
    },
  );

  it.each(["Backup", "-a", "a b", "../a", "a\u001b[31m", "x".repeat(65), "ü"])(
    "is refused with the name %j",
    (name) => {
      const reading = read(`name: ${JSON.stringify(name)}`, ...least.slice(1));
      expect(reading).toMatchObject({
        faults: [expect.stringMatching(/:1:7: name: must look like "backup-age"/)],
        name: undefined,
      });
    },
  );

  it("has its faults with its name and type, ten of them in one message, each of bounded length", () => {
    expect(read(...least, "x: 1")).toMatchObject({ type: "check", name: "backup-age" });
    expect(read("type: [check]", "name: { a: b }")).toMatchObject({ type: undefined, name: undefined });
    expect(read("- a")).toMatchObject({ faults: ["plugin.yaml:1:1: must be an object"], type: undefined });
    expect(faultOf(read(""))).toMatch(/must have name/);
    const reading = read(...least, ...Array.from({ length: 13 }, (_, at) => `x${at}: 1`));
    expect("faults" in reading && reading.faults).toHaveLength(13);
    const fault = faultOf(reading);
    expect(fault.split("; ")).toHaveLength(11);
    expect(fault).toMatch(/; and 3 more$/);
    const long = "x".repeat(50_000);
    const files = [[`author: "\\x${long}"`], [`${"{a: ".repeat(200)}1`, "'"], [`${long}: 1`]];
    for (const lines of files) {
      const reading = read(...least, ...lines);
      if (!("faults" in reading)) throw new Error("no fault");
      for (const fault of reading.faults) expect(fault.length).toBeLessThanOrEqual(500);
    }
  });

  it("is refused with a version that is a number", () => {
    expect(faultOf(read(least[0] ?? "", "version: 1.0", ...least.slice(2)))).toBe(
      "plugin.yaml:2:10: version: must be a string: write it in quotes",
    );
  });

  it.each(["\u202e", "\u2066", "\u200f", "\u2028", "\u0085"])("is refused with the control character %j", (sign) => {
    expect(faultOf(read(...least, `description: ${JSON.stringify(`a${sign}b`)}`))).toMatch(
      /description: must not have control characters/,
    );
  });

  it.each(["/var/lib/dpkg/info", "/var/lib", "/var/lib/systemd/x", "/nix/store", "/var/spool"])(
    "may write %s as root alone, since root runs or trusts it",
    (path) => {
      expect(faultOf(read(...least, `permissions: { write: [${path}] }`))).toMatch(/so it takes user: root$/);
      expect(faultOf(read(...least, `permissions: { user: root, write: [${path}] }`))).toBe("no fault");
      expect(faultOf(read(...least, `permissions: { write: [${path.replace("/", "/srv/")}] }`))).toBe("no fault");
    },
  );

  it("reports faulty values beside faulty types", () => {
    const lines = ["timeout: 5h", "permissions: { memory: 1M }", "hook: 5", "x: 1"];
    const places = ["8:1: x", "7:7: hook", "5:10: timeout", "6:24: permissions.memory"];
    expect(faultOf(read(...least, ...lines)).split("; ")).toEqual(
      places.map((place) => expect.stringContaining(`plugin.yaml:${place}: `)),
    );
  });

  it("has printable faults, whatever the file holds", () => {
    const fault = faultOf(read(...least, '"\\e[2J\\u202eevil": 1'));
    expect(fault).toBe("plugin.yaml:5:1: \ufffd[2J\ufffdevil: unknown setting");
    expect(printable("a\nb")).toBe("a\ufffdb");
    const noYaml = faultOf(read(...least, 'author: "\\x\u009b\u202e"'));
    expect(noYaml).toMatch(/^plugin\.yaml:5:\d+: Invalid escape sequence \\x\ufffd/);
    expect(noYaml).not.toMatch(/[\p{Cc}\p{Cf}\u2028]/u);
  });

  it.each([
    ["an alias", ["args: &a [x]", "description: *a"], /plugin\.yaml: Alias resolution is disabled/],
    ["the same key twice", ["exec: a"], /plugin\.yaml:5:1: Map keys must be unique/],
    ["a second document", ["---", "name: b"], /multiple documents/],
    ["brackets without end", ["args: ", "[".repeat(50_000)], /plugin\.yaml:/],
    ["a tab", ["check:", "\ttitle: x"], /plugin\.yaml:6/],
  ])("is refused for %s", (_, lines, fault) => {
    expect(faultOf(read(...least, ...lines))).toMatch(fault);
  });
});
