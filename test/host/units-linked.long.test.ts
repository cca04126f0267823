import { expect, it } from "vitest";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { property } from "./support/systemctl.ts";

const install = ["[Install]", "WantedBy=multi-user.target"];
const folder = "/etc/systemd/system";

describeOnHost("services whose files are elsewhere", { user: "steward" }, (session) => {
  const { shell } = session;
  const input = (name: string, query: { dry_run?: boolean } = {}) => ({ params: { name }, query });

  const link = async (name: string, { runtime = false, section = install } = {}): Promise<void> => {
    const lines = ["[Service]", "ExecStart=/bin/sleep infinity", ...section];
    await session.host.writeFile(`/opt/units/${name}.service`, `${lines.join("\n")}\n`);
    await shell(`systemctl link --quiet ${runtime ? "--runtime " : ""}/opt/units/${name}.service`);
  };
  /** What systemd has of a unit, apart from its name. */
  const stateOf = async (name: string): Promise<readonly string[]> => {
    const properties = ["LoadState", "UnitFileState", "FragmentPath"];
    const values = await Promise.all(properties.map((each) => property(session, `${name}.service`, each)));
    const links = await shell(
      `find /etc/systemd/system /run/systemd/system -name ${name}.service -printf '%h -> %l\\n' | sort`,
    );
    return [...values, links].map((text) => text.replaceAll(name, "NAME"));
  };
  const calls = {
    enable: (name: string) => session.api.enableService(input(name)),
    disable: (name: string) => session.api.disableService(input(name)),
    mask: (name: string) => session.api.maskService(input(name)),
    unmask: (name: string) => session.api.unmaskService(input(name)),
  } as const;

  it.each([
    ["that are linked", false],
    ["that are linked until the next boot", true],
  ])("%s become by each call what systemctl makes of them", async (_, runtime) => {
    const suffix = runtime ? "-runtime" : "";
    const [ours, theirs] = [`ours${suffix}`, `theirs${suffix}`];
    for (const name of [ours, theirs]) await link(name, { runtime });
    expect(await stateOf(ours)).toEqual(await stateOf(theirs));
    const verbs = ["mask", "unmask", "enable", "mask", "disable"] as const;
    for (const verb of verbs) {
      const isRefused = (await session.host.exec(["systemctl", verb, theirs], { allowFailure: true })).exitCode !== 0;
      if (isRefused)
        expect([verb, await refusal(calls[verb](ours))]).toEqual([verb, expect.objectContaining({ status: 400 })]);
      else expect([verb, await calls[verb](ours)]).toEqual([verb, expect.objectContaining({ success: true })]);
      expect([verb, await stateOf(ours)]).toEqual([verb, await stateOf(theirs)]);
    }
    if (!runtime) return;
    // What lasts until the next boot is disabled along with what lasts.
    await shell(`systemctl disable --quiet --runtime ${theirs}`);
    await session.api.disableService(input(ours));
    expect(await stateOf(ours)).toEqual(await stateOf(theirs));
    expect((await stateOf(ours))[0]).toBe("not-found");
  });

  it("are not known any more when they are disabled, which is said before and after", async () => {
    await link("only-linked");
    await session.api.startService(input("only-linked"));
    const plan = await session.api.disableService(input("only-linked", { dry_run: true }));
    expect(plan).toMatchObject({
      steps: expect.arrayContaining([
        expect.stringContaining(`remove its link ${folder}/only-linked.service to /opt/units/only-linked.service too`),
      ]),
    });
    await shell(`test -L ${folder}/only-linked.service`);
    expect(await session.api.disableService(input("only-linked"))).toMatchObject({
      changes: [{ type: "unlink", path: `${folder}/only-linked.service`, target: "" }],
      running: true,
      message: expect.stringMatching(/it still runs; systemd does not know it any more/),
    });
    await session.api.stopService(input("only-linked"));
    expect(await refusal(session.api.enableService(input("only-linked")))).toMatchObject({ status: 404 });
    // As the message has it.
    await shell("systemctl link --quiet /opt/units/only-linked.service");
    expect(await session.api.enableService(input("only-linked"))).toMatchObject({ enabled: true });
  });

  it("are masked as the refusal has it", async () => {
    await link("to-mask");
    const refused = await refusal(session.api.maskService(input("to-mask")));
    expect(refused).toMatchObject({
      status: 400,
      message: expect.stringContaining("a link to /opt/units/to-mask.service"),
    });
    await shell(
      "mkdir -p /usr/local/lib/systemd/system && ln -s /opt/units/to-mask.service /usr/local/lib/systemd/system/",
    );
    await session.api.disableService(input("to-mask"));
    expect(await session.api.maskService(input("to-mask"))).toMatchObject({ unit_file_state: "masked" });
    expect(await session.api.unmaskService(input("to-mask"))).toMatchObject({ unit_file_state: "disabled" });
  });

  it("are not said to be enabled where nothing would start them", async () => {
    await link("no-install", { section: [] });
    expect(await refusal(session.api.enableService(input("no-install")))).toMatchObject({
      status: 400,
      message: expect.stringMatching(/no \[Install\] section .*\(start it, or enable what starts it/),
    });
    expect(await property(session, "no-install.service", "UnitFileState")).toBe("linked");
  });
});
