import { dnfTree } from "./support/dnf-tree.ts";
import { testDnfCatalog } from "./support/rpm-catalog.ts";
import { dnfAdapter, dnfWords } from "./support/rpm-host.ts";
import { testUpdates } from "./support/rpm-updates.ts";
import { describeOnHost } from "./support/session.ts";
import { testSignedRepository } from "./support/signed-repository.ts";

describeOnHost("dnf as the package manager of updates", (session) => {
  const tree = dnfTree(session);
  testUpdates(session, tree);
  testDnfCatalog(session, tree, dnfWords);
});

describeOnHost("dnf with a signed repository", testSignedRepository(dnfAdapter, dnfWords));
