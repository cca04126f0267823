import { dnf5Tree } from "./support/dnf-tree.ts";
import { testDnfCatalog } from "./support/rpm-catalog.ts";
import { dnf5Adapter, dnf5Words } from "./support/rpm-host.ts";
import { testUpdates } from "./support/rpm-updates.ts";
import { describeOnHost, missingImage } from "./support/session.ts";
import { testSignedRepository } from "./support/signed-repository.ts";

const onSid = { suite: "sid", missing: await missingImage("sid") } as const;

describeOnHost("dnf 5 as the package manager of updates", onSid, (session) => {
  const tree = dnf5Tree(session);
  testUpdates(session, tree);
  testDnfCatalog(session, tree, dnf5Words);
});

describeOnHost("dnf 5 with a signed repository", onSid, testSignedRepository(dnf5Adapter, dnf5Words));
