import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import type { AvailableUpdates, TransactionPlan, TransactionResult } from "#domain/ports/packages.ts";
import {
  makePackages,
  makePacmanRoot,
  offer,
  type PacmanRecipe,
  pacman,
  pacmanFile,
  pacmanRepository,
  pacmanRoot,
  pacmanWords,
} from "./support/pacman-host.ts";
import { describeOnHost } from "./support/session.ts";
import { exportKeys, makeSigningKeys, type Signer, signed } from "./support/signing-keys.ts";

const old: PacmanRecipe = { name: "app", version: "1.0" };
const fresh: PacmanRecipe = { name: "app", version: "2.0" };
const ring = `${pacmanRoot}/etc/pacman.d/gnupg`;
const cache = `${pacmanRoot}/var/cache/pacman/pkg`;
const list = `${pacmanRepository}/core.db`;

describeOnHost("pacman with a signed repository", (session) => {
  const { shell } = session;
  /** The signature is as new as what is signed, or pacman would keep one of before. */
  const sign = (signer: Signer, path: string) =>
    shell(`${signed(signer, `--detach-sign --output ${path}.sig ${path}`)} && touch --reference=${path} ${path}.sig`);
  /** Lists what there is, with the list and the packages signed by somebody. */
  const publish = async (recipes: readonly PacmanRecipe[], signer: Signer = "maker"): Promise<void> => {
    await offer(session, recipes);
    await sign(signer, list);
    for (const recipe of recipes) await sign(signer, pacmanFile(recipe));
  };
  const refresh = () => pacman(session, { verb: "refresh" });
  const offered = async (): Promise<readonly string[]> => {
    const { result, error } = await pacman<AvailableUpdates>(session, { verb: "updates" });
    if (result === undefined) throw new Error(error);
    return result.updates.map(({ name, to }) => `${name} ${to}`);
  };

  /** The packages are there already: this version of pacman crashes when it fetches a signature from a directory. */
  const update = async () => {
    await shell(`cp --preserve=timestamps ${pacmanFile(fresh)}* ${cache}/`);
    const { result: plan, error } = await pacman<TransactionPlan>(session, { verb: "simulate", request: {} });
    if (plan === undefined) throw new Error(error);
    return pacman<TransactionResult>(session, { verb: "commit", id: "one", plan });
  };
  const version = () => shell(`cat ${pacmanRoot}/usr/share/app/version`);

  beforeAll(async () => {
    await makeSigningKeys(session);
    await makePackages(session, [old, fresh]);
    await makePacmanRoot(session);
    const server = ["[core]", `Server = file://${pacmanRepository}`];
    const options = ["[options]", "Architecture = auto", "SigLevel = Required DatabaseRequired", `GPGDir = ${ring}`];
    await session.host.writeFile(`${pacmanRoot}/etc/pacman.conf`, `${[...options, ...server].join("\n")}\n`);
    // The ring of the host knows its maker, and trusts him wholly.
    const gpg = `gpg --homedir ${ring} --batch --quiet`;
    await shell(`mkdir -p -m 700 ${ring} && ${exportKeys(["maker"])} | ${gpg} --import 2>&1`);
    await shell(
      `${gpg} --with-colons --fingerprint maker | sed -n 's/^fpr:*\\([0-9A-F]*\\):$/\\1:6:/p' | ${gpg} --import-ownertrust 2>&1`,
    );
  });

  beforeEach(async () => {
    await shell(`rm -f ${cache}/*`);
    await makePackages(session, [old, fresh]);
    await sign("maker", pacmanFile(old));
    await shell(`cp --preserve=timestamps ${pacmanFile(old)}* ${cache}/`);
    await publish([old]);
    await session.host.exec([...pacmanWords, "-Syy"]);
    await session.host.exec([...pacmanWords, "-S", "app"]);
    await publish([fresh]);
    expect((await refresh()).error).toBe(undefined);
    expect(await offered()).toEqual(["app 2.0-1"]);
  });

  it.each<[string, () => Promise<unknown>, RegExp]>([
    // Where it would ask for an unknown key, this version of pacman crashes, or finds that it cannot keep one: nothing is installed either way.
    [
      "another key has signed",
      () => sign("stranger", pacmanFile(fresh)),
      /is unknown|SIGSEGV|required key missing from keyring/,
    ],
    [
      "was changed after it was signed",
      () => shell(`printf x | dd of=${pacmanFile(fresh)} bs=1 seek=4 conv=notrunc 2>&1`),
      /^app-2\.0-1-any\.pkg\.tar\.gz is corrupted \(invalid or corrupted package/,
    ],
  ])("installs no package that %s", async (_name, spoil, expected) => {
    await spoil();
    const { result, error } = await update();
    expect({ result, error }).toMatchObject({ result: { isDone: false, reason: expect.stringMatching(expected) } });
    expect(await version()).toBe("1.0\n");
    expect((await pacman(session, { verb: "audit" })).result).toEqual([]);
  });

  it("installs what is signed by its maker", async () => {
    expect((await update()).result).toEqual({ isDone: true, reason: "" });
    expect(await version()).toBe("2.0\n");
  });

  describe("refuses lists", () => {
    it.each<[string, () => Promise<unknown>, RegExp]>([
      ["that another key has signed", () => sign("stranger", list), /^CommandFailed: core: key "[0-9A-F]+" is unknown/],
      [
        "that were changed after they were signed",
        () => shell(`echo >> ${list}`),
        /^CommandFailed: core: signature from "maker .*" is invalid/,
      ],
      ["without a signature", () => shell(`rm ${list}.sig`), /^CommandFailed: failed retrieving file 'core\.db\.sig'/],
    ])("%s, names the repository, and keeps the last good ones", async (_name, spoil, expected) => {
      await offer(session, [fresh]);
      await sign("maker", list);
      await spoil();
      const { error } = await refresh();

      expect(error).toMatch(expected);
      expect(await offered()).toEqual(["app 2.0-1"]);
    });
  });
});
