import { plainEnvironment, runCommand } from "./commands.ts";

/**
 * Where this machine gets the suite from; otherwise where it gets its own release from, which has the other ones too.
 * Nothing when it has no package sources that say.
 */
export async function findMirror(suite: string): Promise<string | undefined> {
  const format = "$(SITE) $(RELEASE) $(COMPONENT)";
  const { stdout } = await runCommand(["apt-get", "indextargets", "--format", format, "Created-By: Packages"], {
    allowFailure: true,
  });
  const sites = stdout.split("\n").flatMap((line) => {
    const [site = "", release = "", component] = line.split(" ");
    return component === "main" && /^(https?|file):/.test(site) ? [{ site, release }] : [];
  });
  const own = sites.find(({ release }) => release === suite);
  return (own ?? sites.find(({ release }) => /^[a-z]+$/.test(release)))?.site;
}

/** The environment in which a download takes the same way as the machine's own package manager. */
export async function downloadEnvironment(): Promise<Record<string, string>> {
  const environment: Record<string, string> = { ...plainEnvironment };
  for (const name of ["http_proxy", "https_proxy", "no_proxy"]) {
    const value = process.env[name];
    if (value !== undefined) environment[name] = value;
  }
  const { stdout } = await runCommand(["apt-config", "dump", "Acquire"], { allowFailure: true });
  for (const [, scheme, proxy] of stdout.matchAll(/^Acquire::(https?)::Proxy "([^"]+)";$/gim)) {
    if (scheme !== undefined && proxy !== undefined && proxy !== "DIRECT")
      environment[`${scheme.toLowerCase()}_proxy`] = proxy;
  }
  return environment;
}
