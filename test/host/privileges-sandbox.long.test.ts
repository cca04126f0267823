import { afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { eventually } from "./support/eventually.ts";
import { reachable, systemCalls } from "./support/privileges.ts";
import { openSandbox, type SandboxResult } from "./support/sandbox.ts";
import { describeOnHost } from "./support/session.ts";

const proof = "/var/tmp/outside";
const linger = "/var/lib/systemd/linger/steward";
const rules = "/usr/share/polkit-1/rules.d/00-steward.rules";
const busPolicy = "/usr/share/dbus-1/system.d/steward.conf";

/** A unit that a user manager reads from a home directory and starts with itself. */
const plantUnit = (directory: string): string => `
  units=${directory}/.config/systemd/user
  mkdir -p $units/default.target.wants || exit 20
  printf '[Service]\\nType=oneshot\\nExecStart=/bin/sh -c "id >> ${proof}"\\n' > $units/outside.service
  ln -sf ../outside.service $units/default.target.wants/outside.service
`;

describeOnHost("the sandbox of the service", { privateNetwork: true }, (session) => {
  let run: (script: string) => Promise<SandboxResult>;
  let uid = "";
  /** In a unit of root's own: what is entered from outside is in no control group of the guest. */
  const asRoot = (line: string) => session.shell(`systemd-run --quiet --wait --pipe sh -ec '${line}'`);
  const outside = () => session.shell(`ls -d ${proof} ${linger} /run/user/${uid} 2>/dev/null; true`);

  /** What a process of that user would get from polkit: `yes`, `no`, or `ask` for somebody's password. */
  async function decisions(user: string, checks: readonly (readonly string[])[]): Promise<ReadonlyMap<string, string>> {
    const unit = `subject-${user}`;
    await session.shell(
      `systemd-run --quiet --collect --unit=${unit} --uid=${user} --property=Type=exec sleep infinity`,
    );
    try {
      const pid = (await session.shell(`systemctl show -P MainPID ${unit}`)).trim();
      const lines = checks.map(
        (words) => `pkcheck --process ${pid} --action-id ${words.join(" ")} >/dev/null 2>&1; echo $?`,
      );
      const codes = (await session.shell(lines.join("\n"))).trim().split("\n");
      const answers: Readonly<Record<string, string>> = { 0: "yes", 1: "no", 2: "ask" };
      return new Map(
        checks.map((words, index) => [words.join(" "), answers[codes[index] ?? ""] ?? `exit ${codes[index]}`]),
      );
    } finally {
      await session.shell(`systemctl stop ${unit}`);
    }
  }

  /** Takes one of the files away that close the sandbox, to see what the others do without it. */
  async function without(path: string, hasEffect: () => Promise<boolean>, work: () => Promise<void>): Promise<void> {
    const change = async (line: string, wanted: boolean): Promise<void> => {
      await session.shell(`${line}; systemctl reload dbus`);
      await eventually(async () => {
        if ((await hasEffect()) !== wanted) throw new Error(`${line} has not taken effect`);
      });
    };
    await change(`mv ${path} /root/away`, false);
    try {
      await work();
    } finally {
      await change(`mv /root/away ${path}`, true);
    }
  }

  const deniesLinger = async (): Promise<boolean> =>
    (await decisions("steward", [["org.freedesktop.login1.set-self-linger"]])).values().next().value === "no";
  const busRefuses = async (): Promise<boolean> => {
    const call = "busctl call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.DBus.Peer Ping";
    const { exitCode } = await session.host.exec(["sh", "-c", call], { user: "steward", allowFailure: true });
    return exitCode !== 0;
  };

  beforeAll(async () => {
    run = await openSandbox(session);
    uid = (await session.shell("id -u steward")).trim();
  });

  it("is the one of the installed unit", async () => {
    const { output } = await run(
      "id -un; grep -E 'NoNewPrivs|CapBnd' /proc/self/status; touch /var/lib/steward/x && echo own; touch /etc/x",
    );
    expect(output).toMatch(/^steward\nNoNewPrivs:\t1\nCapBnd:\t0+\nown\n|^steward\nCapBnd:\t0+\nNoNewPrivs:\t1\nown\n/);
    expect(output).toContain("/etc/x");
  });

  describe("cannot be left by a user manager", () => {
    const lingerByItself = () =>
      run(`
      for home in "$(getent passwd steward | cut -d: -f6)" /var/lib/steward; do ( ${plantUnit("$home")} ); done
      busctl --timeout=20 call org.freedesktop.login1 /org/freedesktop/login1 org.freedesktop.login1.Manager SetUserLinger ubb ${uid} true false && echo LINGERS
      i=0; while [ $i -lt 20 ] && [ ! -S /run/user/${uid}/bus ]; do sleep 0.1; i=$((i+1)); done
      ls /run/user/${uid} && echo REACHED
      export XDG_RUNTIME_DIR=/run/user/${uid} DBUS_SESSION_BUS_ADDRESS=unix:path=/run/user/${uid}/bus
      timeout 10 systemctl --user start outside.service && echo STARTED
      timeout 10 systemd-run --user --machine=steward@.host touch ${proof} && echo STARTED
      exit 0`);

    afterEach(() =>
      session.shell(
        `rm -f ${linger}; systemctl stop user@${uid}.service user-runtime-dir@${uid}.service; rm -rf ${proof} /var/lib/steward/.config`,
      ),
    );

    const holds = async (): Promise<void> => {
      const { output } = await lingerByItself();
      expect(output).not.toMatch(/LINGERS|REACHED|STARTED/);
      expect(await outside()).toBe("");
    };

    it("that it starts", holds);

    it("that it starts, were there no bus policy", () => without(busPolicy, busRefuses, holds));

    it("that it starts, were there no polkit rule", () => without(rules, deniesLinger, holds));

    it("that root has started for its user", async () => {
      await run(plantUnit("/var/lib/steward"));
      await asRoot("loginctl enable-linger steward");
      await eventually(async () =>
        expect(await session.shell(`systemctl show -P ActiveState user@${uid}.service`)).toBe("active\n"),
      );
      const { output } = await lingerByItself();
      expect(output).not.toMatch(/LINGERS|REACHED|STARTED/);
      expect(await session.shell(`ls ${proof} 2>/dev/null; true`)).toBe("");
    });
  });

  it("cannot be left through a home directory that other programs read", async () => {
    const home = (await session.shell("getent passwd steward")).split(":")[5] ?? "";
    const { output } = await run(`mkdir -p ${home}/.config && echo MADE; ls -d ${home}`);
    expect(output).not.toContain("MADE");
    expect(output).toContain("No such file or directory");
  });

  it("cannot be left by a login, with a key that the service made", async () => {
    // A login starts a user manager, whatever the shell is.
    const options = "-p 2222 -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o BatchMode=yes";
    const unit = "loopback-sshd";
    await session.shell(
      `ssh-keygen -A >/dev/null; systemd-run --quiet --unit=${unit} --property=RuntimeDirectory=sshd /usr/sbin/sshd -D -p 2222 -o ListenAddress=127.0.0.1`,
    );
    try {
      const login = await run(`
      ( ${plantUnit("/var/lib/steward")} )
      mkdir -m 700 /var/lib/steward/.ssh && cd /var/lib/steward/.ssh || exit 21
      ssh-keygen -q -t ed25519 -N '' -f key && cp key.pub authorized_keys
      i=0; while [ $i -lt 100 ] && ! ssh-keyscan -p 2222 127.0.0.1 2>/dev/null | grep -q .; do sleep 0.1; i=$((i+1)); done
      timeout 20 ssh ${options} -i key steward@127.0.0.1 -N; exit 0`);
      expect(login.output).toContain("Permission denied");
      expect(await outside()).toBe("");
    } finally {
      await session.shell(`systemctl stop ${unit}; rm -rf /var/lib/steward/.ssh /var/lib/steward/.config ${proof}`);
    }
  });

  it("leaves no work to schedulers", async () => {
    const { output } = await run(`
    echo '* * * * * touch ${proof}' > /tmp/tab
    crontab /tmp/tab && echo SCHEDULED
    for place in /var/spool/cron/crontabs/steward /var/spool/cron/atjobs/a00001 /etc/cron.d/steward /etc/systemd/system/x.service /run/systemd/system/x.service /run/systemd/transient/x.service; do
      cp /tmp/tab $place && echo SCHEDULED
    done
    exit 0`);
    expect(output).not.toContain("SCHEDULED");
  });

  describe("towards polkit", () => {
    const unit = ["--detail", "unit"];
    const manage = (verb: string, name: string): readonly string[] => [
      "org.freedesktop.systemd1.manage-units",
      ...[...unit, name, "--detail", "verb", verb],
    ];
    const listed = ["start", "stop", "restart", "reload", "reset-failed"].map((verb) => manage(verb, "cron.service"));
    const others = ["kill", "clean", "freeze", "set-property", "bind-mount", "ref"];
    const planted = "org.example.anything";
    const policy = (id: string, extra = ""): string =>
      `<action id="${id}"><description>x</description><message>x</message><defaults><allow_any>yes</allow_any><allow_inactive>yes</allow_inactive><allow_active>yes</allow_active></defaults>${extra}</action>`;
    const imply = (ids: string): string => `<annotate key="org.freedesktop.policykit.imply">${ids}</annotate>`;
    const files = {
      "/usr/share/polkit-1/actions/org.example.policy": `<?xml version="1.0"?><policyconfig>${policy(planted)}${policy("org.example.root", imply("org.freedesktop.systemd1.manage-units org.freedesktop.login1.reboot"))}</policyconfig>`,
      // As administrators write it, for a group that the service is in.
      "/etc/polkit-1/rules.d/49-adm.rules": `polkit.addRule(function (action, subject) { if (subject.isInGroup("adm")) return polkit.Result.YES; });\n`,
    };

    beforeEach(async () => {
      for (const [path, text] of Object.entries(files)) await session.host.writeFile(path, text, 0o644);
      await session.shell("systemctl restart polkit");
    });
    afterEach(() => session.shell(`rm ${Object.keys(files).join(" ")}; systemctl restart polkit`));

    it("may do nothing on the host but what is on its list", async () => {
      const actions = (await session.shell("pkaction")).trim().split("\n");
      expect(actions).toContain(planted);
      expect(actions.length).toBeGreaterThan(40);
      const checks = [...actions.map((id) => [id]), ...others.map((verb) => manage(verb, "cron.service")), ...listed];
      const answers = await decisions("steward", checks);
      const allowed = [...answers].filter(([, answer]) => answer !== "no");
      expect(allowed).toEqual(listed.map((words) => [words.join(" "), "yes"]));
      // The same questions about somebody else show that polkit has an opinion.
      const nobody = await decisions("nobody", [[planted], ["org.freedesktop.login1.set-self-linger"], ...listed]);
      expect([...nobody.values()]).toEqual(["yes", "yes", ...listed.map(() => "yes")]);
    });
  });

  describe("on the system bus", () => {
    it("reaches no program there but systemd, and the settings of the clock to read", async () => {
      const names = (await session.shell("busctl list --acquired --activatable --no-legend"))
        .split("\n")
        .flatMap((line) => line.split(/\s+/)[0] ?? [])
        .filter((name) => name.startsWith("org.") || name.startsWith("com.") || name.startsWith("fi."));
      expect(names.length).toBeGreaterThan(8);
      const introspect = "org.freedesktop.DBus.Introspectable Introspect";
      const { output } = await run(
        names
          .map(
            (name) =>
              `printf '${name} '; busctl call ${name} / ${introspect} >/tmp/out 2>&1 && echo reached || cat /tmp/out`,
          )
          .join("\n"),
      );
      const refused = /Access denied|not authorized to send/;
      const reached = output.split("\n").filter((line) => line !== "" && !refused.test(line));
      expect(reached.sort()).toEqual(["org.freedesktop.DBus reached", "org.freedesktop.systemd1 reached"]);
    });

    it("may change nothing by their calls, also where polkit alone is asked", async () => {
      const lines = systemCalls.map((words) => {
        const argv = words.map((word) => `'${word}'`).join(" ");
        return `busctl --timeout=20 call ${argv} >/dev/null 2>&1 && echo "done: ${words.slice(3).join(" ")}"`;
      });
      const attempt = () => run(`${lines.join("\n")}\nexit 0`);
      expect((await attempt()).output).toBe("");
      await without(busPolicy, busRefuses, async () => expect((await attempt()).output).toBe(""));
    });

    it("can do what the service does", async () => {
      const { output } = await run(reachable.map((line) => `${line} >/dev/null && echo fine`).join("\n"));
      expect(output.trim().split("\n")).toEqual(reachable.map(() => "fine"));
    });
  });
});
