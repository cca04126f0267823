import { eventually } from "./eventually.ts";
import { buildPackage, makePackageSources, type PackageRecipe } from "./package-sources.ts";
import { freePort } from "./plugin-peers.ts";
import type { Session } from "./session.ts";
import { exportKeys, makeSigningKeys, type Signer, signed } from "./signing-keys.ts";

export type Place = "main" | "security";
const directory = "/srv/packages";
const trusted = "/etc/apt/keyrings/of-a-test.gpg";
const suites = { main: ["stable", "Test"], security: ["stable-security", "Debian-Security"] } as const;
/** Sources that are signed with real keys and that a web server of the host has. */
export interface SignedSources {
  /** The address of a source, as apt is given it. */
  readonly address: (place: Place) => string;
  /** Lists again what a source has, and signs that. */
  readonly publish: (
    place: Place,
    recipes: readonly PackageRecipe[],
    how?: { readonly signer?: Signer; readonly validSeconds?: number },
  ) => Promise<void>;
  readonly directory: (place: Place) => string;
}

/** Makes the keys and the sources, which are then the only ones of the host, starts their server, and reads their lists. */
export async function makeSignedSources(session: Session, recipes: readonly PackageRecipe[]): Promise<SignedSources> {
  const { shell, host } = session;
  await makePackageSources(session, recipes);
  await makeSigningKeys(session);
  await shell(`mkdir -p /etc/apt/keyrings && ${exportKeys(["maker", "former"])} > ${trusted}`);
  const port = await freePort();
  const address = (place: Place): string => `http://127.0.0.1:${port}/${place}`;
  const inDirectory = (place: Place, line: string): Promise<string> => shell(`cd ${directory}/${place} && ${line}`);

  let published = 0;
  const publish: SignedSources["publish"] = async (place, added, { signer = "maker", validSeconds } = {}) => {
    for (const recipe of added) await buildPackage(session, recipe);
    const [suite, label] = suites[place];
    const fields = { Origin: "Debian", Label: label, Suite: suite, Codename: suite };
    const options = Object.entries({ ...fields, ...(validSeconds !== undefined && { ValidTime: validSeconds }) })
      .map(([name, value]) => `-o APT::FTPArchive::Release::${name}=${value}`)
      .join(" ");
    await inDirectory(place, "rm -f InRelease Release Release.gpg && apt-ftparchive packages . > Packages");
    await inDirectory(place, `apt-ftparchive ${options} release . > /tmp/Release && mv /tmp/Release .`);
    await inDirectory(place, signed(signer, "--clearsign --output InRelease Release"));
    await inDirectory(place, signed(signer, "--armor --detach-sign --output Release.gpg Release"));
    // The server compares whole seconds.
    published += 1;
    await inDirectory(place, `touch --date 'now + ${published} minutes' Packages Release InRelease Release.gpg`);
  };

  const serve = `python3 -m http.server --bind 127.0.0.1 --directory ${directory} ${port}`;
  await shell(`systemd-run --quiet --collect --unit=signed-sources ${serve}`);
  await eventually(() => shell(`curl -fsS http://127.0.0.1:${port}/main/Packages`));
  for (const place of ["main", "security"] as const) await publish(place, []);
  const line = (place: Place): string => `deb [signed-by=${trusted}] ${address(place)} ./\n`;
  await host.writeFile("/etc/apt/sources.list", line("main") + line("security"));
  await shell("apt-get --quiet update");
  return { address, publish, directory: (place) => `${directory}/${place}` };
}
