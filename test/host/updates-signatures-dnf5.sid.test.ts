import { dnf5Adapter, dnf5Words } from "./support/rpm-host.ts";
import { describeOnHost, missingImage } from "./support/session.ts";
import { testSignedRepository } from "./support/signed-repository.ts";

const missing = await missingImage("sid");
describeOnHost(
  "dnf 5 with a signed repository",
  { suite: "sid", missing },
  testSignedRepository(dnf5Adapter, dnf5Words),
);
