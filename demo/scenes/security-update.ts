import { makePackageSources, type PackageRecipe } from "../../test/host/support/package-sources.ts";
import type { Scene } from "../scene.ts";

const recipes: readonly PackageRecipe[] = [
  { name: "demo-webserver", version: "1.0", place: "main" },
  { name: "demo-webserver", version: "1.1", place: "security" },
  { name: "demo-tools", version: "2.0", place: "main" },
  { name: "demo-tools", version: "2.1", place: "main" },
];

/** Two packages with newer versions in repositories on the host itself; one of them comes from the security suite. */
export const securityUpdate: Scene = {
  says: "a security update of demo-webserver and another update wait in a repository on the host",
  async prepare(stage) {
    await makePackageSources(stage, recipes);
    await stage.shell("apt-get --quiet --yes install demo-webserver=1.0 demo-tools=2.0");
  },
};
