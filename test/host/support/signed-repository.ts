import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AvailableUpdates, TransactionPlan, TransactionResult } from "#domain/ports/packages.ts";
import type { PackageAnswer, PackageWork } from "./package-work.ts";
import { dnf5Adapter, makeRpmRepository, makeRpmRoot, type RpmRecipe, rpmRepository, rpmRoot } from "./rpm-host.ts";
import type { Session } from "./session.ts";
import { exportKeys, makeSigningKeys, type Signer, signed, signingKeys } from "./signing-keys.ts";

const names = ["right", "foreign", "bare", "changed"];
const recipes: readonly RpmRecipe[] = [
  {
    name: "release",
    version: "9.1",
    header: ["Provides: system-release = 9.1", "Provides: system-release(releasever) = 9"],
  },
  ...names.flatMap((name) => ["1.0", "2.0"].map((version) => ({ name, version }))),
];
const publicKey = "/root/maker.asc";
const fileOf = (name: string, version: string): string => `${rpmRepository}/noarch/${name}-${version}-1.noarch.rpm`;

/** The tests of a repository whose lists and packages are signed, wrongly in all sorts of ways, for both generations of dnf. */
export const testSignedRepository = (adapter: typeof dnf5Adapter, words: readonly string[]) => (session: Session) => {
  const { shell } = session;
  const work = <T>(given: PackageWork): Promise<PackageAnswer<T>> => adapter.work<T>(session, given);
  const simulate = async (name: string): Promise<TransactionPlan> => {
    const { result, error } = await work<TransactionPlan>({ verb: "simulate", request: { names: [name] } });
    if (result === undefined) throw new Error(error);
    return result;
  };
  const update = async (name: string): Promise<PackageAnswer<TransactionResult>> =>
    work({ verb: "commit", id: name, plan: await simulate(name) });
  const versionOf = (name: string) => shell(`rpm --root ${rpmRoot} --query --queryformat '%{VERSION}' ${name}`);
  const offered = async (): Promise<readonly string[]> => {
    const { result } = await work<AvailableUpdates>({ verb: "updates" });
    return (result?.updates ?? []).map(({ name }) => name).sort();
  };
  const signFile = (signer: Signer, path: string) =>
    shell(
      `rpmsign --define '__gpg /usr/bin/gpg' --define '_gpg_name ${signer}' --define '_gpg_path ${signingKeys}' --addsign ${path} 2>&1`,
    );
  const list = (signer: Signer) =>
    shell(
      `createrepo_c --quiet ${rpmRepository} && cd ${rpmRepository}/repodata && ${signed(signer, "--armor --detach-sign repomd.xml")}`,
    );
  const refresh = () => work({ verb: "refresh" });

  beforeAll(async () => {
    await makeSigningKeys(session);
    await shell(`${exportKeys(["maker"], "--armor")} > ${publicKey}`);
    await makeRpmRepository(session, recipes, []);
    await makeRpmRoot(session);
    for (const { name, version } of recipes) {
      if (name === "bare" && version === "2.0") continue;
      await signFile(name === "foreign" && version === "2.0" ? "stranger" : "maker", fileOf(name, version));
    }
    const keys = ["gpgcheck=1", "repo_gpgcheck=1", `gpgkey=file://${publicKey}`];
    const repository = ["[base]", "name=base", `baseurl=file://${rpmRepository}`, ...keys, "metadata_expire=1d"];
    await session.host.writeFile(`${rpmRoot}/etc/yum.repos.d/base.repo`, `${repository.join("\n")}\n`);
    await list("maker");
    const old = ["release-9.1", ...names.map((name) => `${name}-1.0`)];
    await session.host.exec([...words, "install", ...old], { timeoutMs: 120_000 });
  });

  beforeEach(async () => {
    await list("maker");
    expect((await refresh()).error).toBe(undefined);
    expect(await offered()).toEqual([...names].sort());
  });

  it.each([
    ["foreign", /foreign-2\.0.*(?:not installed|not signed|key)/i],
    ["bare", /bare-2\.0.*(?:not signed|signature|digest)/i],
  ])("installs no package that its maker has not signed: %s", async (name, expected) => {
    const { result, error } = await update(name);
    expect({ result, error }).toMatchObject({ result: { isDone: false, reason: expect.stringMatching(expected) } });
    expect(await versionOf(name)).toBe("1.0");
    expect((await work({ verb: "audit" })).result).toEqual([]);
  });

  it("installs no package that is not the one of the signed lists", async () => {
    const file = fileOf("changed", "2.0");
    await shell(`cp -a ${file} /root/kept && cp ${fileOf("changed", "1.0")} ${file}`);
    try {
      const { result, error } = await update("changed");
      expect({ result, error }).toMatchObject({
        result: { isDone: false, reason: expect.stringMatching(/checksum|No more mirrors|size/i) },
      });
      expect(await versionOf("changed")).toBe("1.0");
    } finally {
      await shell(`cp -a /root/kept ${file}`);
    }
  });

  describe("refuses lists", () => {
    it.each<[string, () => Promise<unknown>]>([
      ["that were changed after they were signed", () => shell(`cd ${rpmRepository}/repodata && echo >> repomd.xml`)],
      ["that another key has signed", () => list("stranger")],
      ["without a signature", () => shell(`rm ${rpmRepository}/repodata/repomd.xml.asc`)],
    ])("%s, names the repository, and keeps the last good ones", async (_name, spoil) => {
      await spoil();
      const { error } = await refresh();
      expect(error).toMatch(
        /repo(?:sitory)? ['"]base['"]: .*GPG (?:signature verification error|verification is enabled)/,
      );
      expect(await offered()).toEqual([...names].sort());
      expect((await work({ verb: "audit" })).result).toEqual([]);
    });
  });

  // Dnf 4 has lists of their own for those.
  it.skipIf(adapter !== dnf5Adapter)("offers updates to users without rights as well", async () => {
    const { stdout } = await session.host.exec(adapter.command({ verb: "updates" }), { user: "nobody" });
    const { result } = JSON.parse(stdout) as PackageAnswer<AvailableUpdates>;
    expect((result?.updates ?? []).map(({ name }) => name).sort()).toEqual([...names].sort());
  });

  it("installs what is signed by its maker", async () => {
    expect((await update("right")).result).toEqual({ isDone: true, reason: "" });
    expect(await versionOf("right")).toBe("2.0");
  });
};
