import { stripVTControlCharacters } from "node:util";
import { afterAll, beforeAll, expect, it } from "vitest";
import { type ModelServer, startModelServer } from "../process/support/model-server.ts";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { synced } from "./support/journal.ts";
import { buildPackage, makePackageSources, type PackageRecipe } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const at = (name: string, version: string, rest: Partial<PackageRecipe> = {}): PackageRecipe => ({
  name,
  version,
  place: "main",
  ...rest,
});
const ctrlC = "\u0003";
const unwhole = "steward: ended by Ctrl-C, the answer is not whole\n";

describeOnHost("what takes a while, on the command line of a host", (session) => {
  const { atTerminal, inPipe } = commandLineOn(session);
  const { shell } = session;
  let model: ModelServer;
  const lastSent = (): string => model.received().findLast((text) => text.startsWith("POST ")) ?? "";
  const made = (file: string) => eventually(() => shell(`test -e ${file}`), 30_000);

  beforeAll(async () => {
    model = await startModelServer();
    const settings = [
      "connectors:",
      "  discover: false",
      `  list: [{ name: local, provider: openai-compatible, model: tiny, base_url: "${model.url}" }]`,
      "updates: { backend: packages }",
      "",
    ];
    await session.host.writeFile("/etc/steward/config.yaml", settings.join("\n"));
    // A service that is started again is to be found again.
    const { host } = new URL(session.service.url);
    const listen = ["[Service]", `Environment=STEWARD_LISTEN=${host}`, ""].join("\n");
    await session.host.writeFile("/etc/systemd/system/steward.service.d/60-address.conf", listen);
    await session.writeUnits({
      "shop.service": ["[Service]", "ExecStart=/bin/sh -c 'echo login with password=Planted0; exit 3'"],
    });
    await session.service.restart();
    await session.host.exec(["systemctl", "start", "shop.service"]);
    await eventually(async () => expect(await shell("systemctl is-failed shop.service")).toBe("failed\n"));
    await synced(session);
    await makePackageSources(session, [at("quick", "1.0"), at("slow", "1.0")]);
    await shell("DEBIAN_FRONTEND=noninteractive apt-get install --yes --quiet quick slow");
    await buildPackage(session, at("quick", "1.1"));
    await makePackageSources(session, [at("slow", "1.1", { postinst: ["sleep 6"] })]);
  });
  afterAll(() => model.close());

  it("chat prints an answer, to what is piped in and to the journal of a unit without its secrets", async () => {
    const words = ["chat", "--attach-logs", "shop", "what is", "wrong"];
    const { code, output } = await atTerminal(words, { piped: "see the manual" });
    expect({ code, text: stripVTControlCharacters(output) }).toEqual({
      code: 0,
      text: "All is well\ntiny-1 by local, 11 + 3 tokens\n",
    });
    expect(lastSent()).toContain(String.raw`what is wrong\n\nsee the manual`);
    expect(lastSent()).toMatch(/Journal of shop, the newest \d+ entries.*login with password=/);
    expect(lastSent()).not.toContain("Planted0");
    expect(await inPipe(["chat", "hello"])).toMatchObject({ exitCode: 0, stdout: "All is well\n", stderr: "" });
    expect(await inPipe(["chat", "--attach-logs", "nobody", "hello"])).toMatchObject({
      exitCode: 2,
      stderr: "steward: cannot attach logs of nobody: there are none\n",
    });
  });

  it("chat shows an answer as it comes; Ctrl-C ends it with one line, and the call to the model with it", async () => {
    model.mode = "held";
    const before = model.hungUp();
    const one = await atTerminal(["chat", "hello"], { steps: [{ wait: "All ", send: ctrlC }] });
    expect(one).toMatchObject({ code: 130, left: [] });
    expect(one.output.replace("^C", "")).toBe(`All \n${unwhole}`);
    await eventually(() => expect(model.hungUp()).toBe(before + 1));
    // In a conversation too.
    const steps = [
      { wait: "> ", send: "hello\r" },
      { wait: "All ", send: ctrlC },
    ];
    const conversation = await atTerminal(["chat"], { steps });
    expect(conversation).toMatchObject({ code: 130, left: [], output: expect.stringContaining(unwhole) });
    await eventually(() => expect(model.hungUp()).toBe(before + 2));
    model.release();
  });

  it("explain has the model explain a check; Ctrl-C ends the waiting, and the call to the model with it", async () => {
    const { code, output } = await atTerminal(["explain", "systemd_failed"]);
    expect(code).toBe(0);
    const [printed = ""] = stripVTControlCharacters(output).split("\r").slice(-1);
    expect(printed).toMatch(/^All is well\ntiny-1 by local\n/);
    expect(lastSent()).toMatch(/shop\.service/);
    expect(lastSent()).not.toContain("Planted0");
    expect(await inPipe(["explain", "no_such_check"])).toMatchObject({
      exitCode: 2,
      stdout: "",
      stderr: expect.stringMatching(/^steward: cannot find the check no_such_check: [^\n]*\n$/),
    });

    model.mode = "held";
    const before = model.hungUp();
    const chats = model.chats();
    const run = atTerminal(["explain", "systemd_failed"], { steps: [{ wait: "asking the model", mark: "/run/asks" }] });
    await made("/run/asks");
    await eventually(() => expect(model.chats()).toBe(chats + 1));
    await session.host.exec(["pkill", "--signal", "INT", "--full", "main.js explain"]);
    const ended = await run;
    expect(ended).toMatchObject({ code: 130, left: [], output: expect.stringMatching(/steward: ended by Ctrl-C\n$/) });
    await eventually(() => expect(model.hungUp()).toBe(before + 1));
    model.release();
  });

  it("rollback shows the plan, asks, shows its progress, and rolls back", async () => {
    const applied = await inPipe(["updates", "apply", "--package", "quick", "--yes"]);
    expect(applied).toMatchObject({ exitCode: 0, stdout: expect.stringMatching(/ {2}quick 1\.0 → 1\.1\n/) });
    const [, snapshot = ""] = /snapshot from before: (\S+)/.exec(applied.stdout) ?? [];
    expect((await inPipe(["snapshots"])).stdout).toMatch(new RegExp(`${snapshot} .* packages `));
    const steps = [{ wait: "[y/N]", send: "y\r" }];
    const { code, output, left } = await atTerminal(["rollback", snapshot], { steps });
    const text = stripVTControlCharacters(output);
    expect({ code, left }).toEqual({ code: 0, left: [] });
    expect(text).toMatch(/ {2}1\. [\s\S]*Return to \S+\? \[y\/N\] y/);
    expect(text).toMatch(/█+░* \d+ % /);
    expect(text).toMatch(/ {2}quick 1\.1 → 1\.0\n/);
    expect(await shell("dpkg-query -W quick")).toBe("quick\t1.0\n");
    expect((await inPipe(["updates", "history"])).stdout).toMatch(/ updates\.rollback +done /);
  });

  it("updates apply sees an update to its end, though the service is started again on the way", async () => {
    const run = atTerminal(["updates", "apply", "--package", "slow"], {
      steps: [
        { wait: "[y/N]", send: "y\r" },
        { wait: "%", mark: "/run/begun" },
        { wait: "lost the connection", mark: "/run/lost" },
      ],
    });
    await made("/run/begun");
    await eventually(() => shell("pgrep --full --exact 'sleep 6'"), 30_000);
    await session.service.stop();
    await made("/run/lost");
    await session.service.restart();
    const { code, output, left } = await run;
    expect({ code, left, output }).toEqual({
      code: 0,
      left: [],
      output: expect.stringContaining("1 package updated\n"),
    });
    expect(output).toMatch(/ {2}slow 1\.0 → 1\.1\n/);
    const { stdout } = await inPipe(["operations", "--json"]);
    const all = (JSON.parse(stdout) as { operations: { kind: string }[] }).operations;
    // That of the rollback, and this one: nothing was begun twice.
    expect(all.filter(({ kind }) => kind === "updates.apply")).toHaveLength(2);
  });

  it("logs -f says that it lost its connection, makes it again, and misses nothing", async () => {
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
});
