import { beforeAll, beforeEach, describe, expect, it } from "vitest";
import { createClient } from "#client/index.ts";
import type { RunningService } from "./service.ts";
import { at, type PackageRecipe, packageFile } from "./support/package-sources.ts";
import { refusal } from "./support/refusal.ts";
import { describeOnHost } from "./support/session.ts";
import { makeSignedSources, type SignedSources } from "./support/signed-sources.ts";

const shield = (version: string): PackageRecipe => at("shield", version, { place: "security" });
const old = [at("plain", "1.0"), shield("1.0")];
/** What somebody would like to be installed. */
const evil = shield("6.6");

describeOnHost("updates from signed sources", (session) => {
  const { shell } = session;
  let service: RunningService;
  let sources: SignedSources;
  const api = () => createClient({ url: service.url, key: service.adminKey });
  const security = (): string => sources.address("security");
  const versions = () => shell(`dpkg-query -W -f '\${Version} ' plain shield`);
  const inSecurity = (line: string) => shell(`cd ${sources.directory("security")} && ${line}`);
  const refresh = () => api().checkUpdates({ query: { refresh: true } });
  const offered = async () =>
    (await api().checkUpdates()).packages.updates.map(({ name, new_version: version }) => `${name} ${version}`).sort();
  const whole = async (): Promise<void> => expect(await shell("dpkg --audit")).toBe("");

  beforeAll(async () => {
    const env = { STEWARD_RATE_LIMITS: "off" };
    service = await session.host.startService({ env, config: "updates: { backend: packages }\n" });
    sources = await makeSignedSources(session, [...old, at("plain", "1.1"), shield("1.1")]);
  });

  beforeEach(async () => {
    await shell(`dpkg --force-downgrade -i ${old.map(packageFile).join(" ")} >/dev/null 2>&1`);
    await shell(`rm -f ${packageFile(evil)} ${packageFile(at("plain", "1.2"))} /etc/apt/apt.conf.d/99-of-a-test`);
    for (const place of ["main", "security"] as const) await sources.publish(place, []);
    await refresh();
    expect(await offered()).toEqual(["plain 1.1", "shield 1.1"]);
  });

  describe("refuses lists", () => {
    const publishEvil = (how: Parameters<SignedSources["publish"]>[2] = {}) => sources.publish("security", [evil], how);

    it.each<[string, () => Promise<unknown>, RegExp]>([
      [
        "that were changed after they were signed",
        async () => {
          await publishEvil();
          await inSecurity("sed -i 's/^Suite: .*/Suite: changed/' InRelease && touch --date 'now + 1 day' InRelease");
        },
        /BADSIG .*the data of the source does not match its signature/,
      ],
      [
        "that were changed after they were signed, where the signature is a file of its own",
        async () => {
          await publishEvil();
          await inSecurity("rm InRelease; sed -i 's/^Suite: .*/Suite: changed/' Release");
        },
        /BADSIG .*the data of the source does not match its signature/,
      ],
      [
        "that a key has signed which nobody trusts",
        () => publishEvil({ signer: "stranger" }),
        /NO_PUBKEY .*this host does not trust the key/,
      ],
      [
        "whose key has expired",
        () => publishEvil({ signer: "former" }),
        /EXPKEYSIG .*has expired: install the new key/,
      ],
      [
        "that were good until some time ago",
        async () => {
          await publishEvil({ validSeconds: 1 });
          await shell("sleep 2");
        },
        /is expired \(invalid since .*the lists of the source have expired/,
      ],
      [
        "whose signature was taken away",
        async () => {
          await publishEvil();
          await inSecurity("rm InRelease Release.gpg");
        },
        /is no longer signed \(its data cannot be verified/,
      ],
      [
        "that do not match the signature",
        async () => {
          await publishEvil();
          await inSecurity("echo >> Packages");
        },
        /unexpected size|Hash Sum mismatch.*was changed on the way/,
      ],
      [
        "that are older than those of before",
        async () => {
          await inSecurity("mkdir -p /srv/older && cp Packages InRelease Release Release.gpg /srv/older");
          await shell("sleep 1.1");
          await sources.publish("security", []);
          await refresh();
          // The server says that they are new.
          await inSecurity("cp /srv/older/* . && touch --date 'now + 1 day' Packages InRelease Release Release.gpg");
        },
        /gave older lists than before, so the newer ones stay in use/,
      ],
    ])("%s, names the source, and keeps the last good ones", async (_name, spoil, expected) => {
      await spoil();
      const before = await api().checkUpdates();
      // Another source has news at the same time, which is not a reason to call all lists fresh.
      await sources.publish("main", [at("plain", "1.2")]);
      const error = await refusal(refresh());
      expect(error).toMatchObject({ status: 503, code: "UNAVAILABLE" });
      expect(error.message).toMatch(/^cannot bring the lists up to date: /);
      expect(error.message).toContain(security());
      expect(error.message).toMatch(expected);

      expect(await offered()).toEqual(["plain 1.2", "shield 1.1"]);
      const { checked_at: checkedAt } = await api().checkUpdates();
      expect(checkedAt).toBe(before.checked_at);

      const result = await api().applyUpdates({ body: { security_only: true } });
      expect(result).toMatchObject({ success: true, packages: [{ name: "shield", from: "1.0", to: "1.1" }] });
      await whole();
      const back = await api().rollback({ params: { snapshot_id: result.snapshot_id } });
      expect(back).toMatchObject({ success: true });
      expect(await versions()).toBe("1.0 1.0 ");
    });
  });

  it("takes the same lists, sent once more, for what they are", async () => {
    const before = await api().checkUpdates();
    await inSecurity("touch --date 'now + 1 day' InRelease");
    const after = await refresh();
    expect(after.packages).toEqual(before.packages);
    expect(Date.parse(after.checked_at ?? "")).toBeGreaterThan(Date.parse(before.checked_at ?? ""));
  });

  it("changes nothing for a package file that is not the one of the signed lists", async () => {
    const file = packageFile(shield("1.1"));
    // As large as before, and whole.
    await shell(`cp -a ${file} /root/kept && cp -a ${packageFile(shield("1.0"))} ${file}`);
    await shell(`truncate -s $(stat -c %s /root/kept) ${file}; rm -f /var/cache/apt/archives/shield_*`);
    try {
      const result = await api().applyUpdates({ body: { security_only: true } });
      expect(result).toMatchObject({ success: false, packages_updated: 0, packages: [] });
      expect(result.error).toMatch(
        /^Failed to fetch http:\S*shield_1\.1_all\.deb .*(?:Hash Sum mismatch|unexpected size)/,
      );
      expect(await versions()).toBe("1.0 1.0 ");
      await whole();
      const back = await api().rollback({ params: { snapshot_id: result.snapshot_id } });
      expect(back).toMatchObject({ success: true, packages_changed: 0 });
    } finally {
      await shell(`cp -a /root/kept ${file}`);
    }
    expect(await api().applyUpdates({ body: { security_only: true } })).toMatchObject({ success: true });
  });

  it("installs nothing unsigned, even where the settings of the host would let apt do so", async () => {
    const lax =
      'Acquire::AllowInsecureRepositories "true"; Acquire::AllowDowngradeToInsecureRepositories "true"; APT::Get::AllowUnauthenticated "true"; APT::Get::Force-Yes "true";';
    await session.host.writeFile("/etc/apt/apt.conf.d/99-of-a-test", `${lax}\n`);
    await sources.publish("security", [evil]);
    await inSecurity("rm InRelease Release.gpg");
    await refresh();
    expect(await offered()).toContain("shield 6.6");
    const result = await api().applyUpdates({ body: { security_only: true } });
    expect(result).toMatchObject({
      success: false,
      packages_updated: 0,
      error: "shield: the source is not signed, so it cannot be verified; have it signed, or use another one",
    });
    expect(await versions()).toBe("1.0 1.0 ");
    await whole();
  });
});
