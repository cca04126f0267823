import { dnfAdapter, dnfWords } from "./support/rpm-host.ts";
import { describeOnHost } from "./support/session.ts";
import { testSignedRepository } from "./support/signed-repository.ts";

describeOnHost("dnf with a signed repository", testSignedRepository(dnfAdapter, dnfWords));
