import { beforeAll, expect, it } from "vitest";
import type { LogTemplates } from "#contract/log-exploration.ts";
import { commandLineOn } from "./support/command-line.ts";
import { eventually } from "./support/eventually.ts";
import { synced } from "./support/journal.ts";
import { makePackageSources, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { describeOnHost } from "./support/session.ts";

const at = (version: string, says: string): PackageRecipe => ({
  name: "reporter",
  version,
  place: "main",
  postinst: ["systemctl daemon-reload; systemctl restart reporter"],
  units: {
    "reporter.service": [
      "[Service]",
      `ExecStart=/bin/sh -c 'echo "<6>took 12 rows"; echo "<3>row 7 is late"; ${says}; exec sleep infinity'`,
    ],
  },
});
const recipes = [at("1.0", ":"), at("1.1", `for n in 3 4; do echo "<3>cannot open table $$n"; done`)];

/** Nothing that was logged later than a second after the first entry is usual. */
const config = "health: { checks: { new_errors: { learning: 1s } } }\n";
/** A minute after the start, or five later where the error came too late for that. */
const learningMs = 400_000;

describeOnHost("what the programs of a host log", { config }, (session) => {
  const { shell } = session;
  const { inPipe } = commandLineOn(session);
  const steward = async (...words: readonly string[]): Promise<string> => {
    const { exitCode, stdout, stderr } = await inPipe(words);
    expect([words, exitCode, stderr]).toEqual([words, 0, expect.any(String)]);
    return stdout;
  };
  const reported = (text: string) =>
    eventually(async () => expect(await shell("journalctl -u reporter -o cat")).toContain(text));

  beforeAll(async () => {
    await makePackageSources(session, recipes);
    await shell(`dpkg -i ${recipes.slice(0, 1).map(packageFile).join(" ")} >/dev/null`);
    await reported("row 7 is late");
  });

  it("is new after an update of a package where it was not there before: that error alone", async () => {
    const result = await session.api.applyUpdates({ body: { packages: ["reporter"] } });
    expect([await shell(`dpkg-query -W -f '\${Version}' reporter`), result]).toEqual(["1.1", result]);
    await reported("cannot open table 4");
    await synced(session);
    const { templates } = JSON.parse(
      await steward("logs", "--new-since", "update", "-p", "err", "--json"),
    ) as LogTemplates;
    expect(templates).toMatchObject([
      { unit: "reporter.service", text: "cannot open table <*>", priority: 3, count: 2, before: 0, status: "new" },
    ]);
    expect(await steward("logs", "--new-since", "update", "-p", "err")).toMatch(
      /^new .* reporter\.service +cannot open table <\*>$/m,
    );
    // Since the boot the other one is new, too, and what is not an error.
    const sinceBoot = await steward("logs", "--new-since", "boot", "-u", "reporter", "--json");
    expect((JSON.parse(sinceBoot) as LogTemplates).templates.map(({ text }) => text)).toEqual(
      expect.arrayContaining(["cannot open table <*>", "row <*> is late", "took <*> rows"]),
    );
  });

  it(
    "is found by the check of errors never logged before, with the id of its template and the runbook for it",
    async () => {
      const { templates } = await session.api.getLogTemplates({
        query: { unit: "reporter", since: "2020-01-01T00:00:00Z" },
      });
      const id = templates.find(({ text }) => text === "cannot open table <*>")?.id;
      const error = {
        template: id,
        unit: "reporter.service",
        text: "cannot open table <*>",
        first_at: expect.any(String),
      };
      await eventually(async () => {
        const { status, details } = await session.api.getCheck({ params: { check_id: "new_errors" } });
        expect([status, details]).toEqual([
          "warn",
          expect.objectContaining({ errors: expect.arrayContaining([error]) }),
        ]);
      }, learningMs);
      await shell(
        `mkdir -p /etc/steward/runbooks && printf -- '---\ntitle: Tables\napplies_to:\n  - template: ${id}\n---\nAsk for the tables.\n' > /etc/steward/runbooks/tables.md`,
      );
      expect(await steward("runbooks", "--template", String(id))).toContain("tables");
    },
    learningMs + 60_000,
  );
});
