import { createHash } from "node:crypto";
import { manifest, root } from "./project.ts";
import { run } from "./run.ts";
import type { ThirdParty } from "./third-party.ts";

interface Component {
  readonly "bom-ref": string;
  readonly name: string;
  readonly version: string;
  readonly purl: string;
}

interface Dependency {
  readonly ref: string;
  readonly dependsOn?: readonly string[];
}

/** What of CycloneDX is used here. */
export interface Sbom {
  readonly bomFormat: "CycloneDX";
  readonly specVersion: string;
  readonly serialNumber: string;
  readonly metadata: { readonly timestamp: string; readonly component: Component & { readonly type: string } };
  readonly components: readonly Component[];
  readonly dependencies: readonly Dependency[];
}

const uuidOf = (text: string): string => {
  const hex = createHash("sha256").update(text).digest("hex");
  return [hex.slice(0, 8), hex.slice(8, 12), `5${hex.slice(13, 16)}`, `a${hex.slice(17, 20)}`, hex.slice(20, 32)].join(
    "-",
  );
};

/**
 * The bill of materials of the package, in CycloneDX: npm makes it from the lockfile; kept of it is what is in the package, and
 * nothing that another run would make differently.
 */
export function makeSbom(options: {
  readonly version: string;
  readonly packages: readonly ThirdParty[];
  readonly epochSeconds: number;
}): Sbom {
  const { version, packages, epochSeconds } = options;
  // With `--omit dev` npm leaves out what development uses as well.
  const text = run(["npm", "sbom", "--sbom-format", "cyclonedx", "--package-lock-only"], { cwd: root });
  const all = JSON.parse(text) as Sbom;
  const shipped = new Set(packages.map((each) => `${each.name}@${each.version}`));
  const keyOf = ({ name, version: its }: Component): string => `${name}@${its}`;
  const others = packages.flatMap(({ name, version: its, purl }) =>
    purl === undefined ? [] : [{ type: "application", "bom-ref": `${name}@${its}`, name, version: its, purl }],
  );
  const components = [...all.components.filter((component) => shipped.has(keyOf(component))), ...others];
  const known = new Set(components.map(keyOf));
  const unknown = [...shipped].filter((key) => !known.has(key));
  if (unknown.length > 0)
    throw new Error(`cannot list what is in the package: the lockfile has no ${unknown.join(", ")}`);

  const self = { ...all.metadata.component, type: "application", name: manifest.name, version };
  const own = { ...self, "bom-ref": `${manifest.name}@${version}`, purl: `pkg:npm/${manifest.name}@${version}` };
  const refs = new Set(components.map((component) => component["bom-ref"]));
  const dependencies = all.dependencies.flatMap(({ ref, dependsOn = [] }): readonly Dependency[] => {
    const left = dependsOn.filter((each) => refs.has(each));
    if (ref === all.metadata.component["bom-ref"]) return [{ ref: own["bom-ref"], dependsOn: left }];
    return refs.has(ref) ? [{ ref, dependsOn: left }] : [];
  });
  const serialNumber = `urn:uuid:${uuidOf(JSON.stringify([own, components, dependencies]))}`;
  const metadata = { timestamp: new Date(epochSeconds * 1000).toISOString(), component: own };
  return { ...all, serialNumber, metadata, components, dependencies };
}
