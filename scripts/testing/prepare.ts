// Builds what test hosts are made of, so that no test waits for it.
import { setup } from "../../test/host/prepare.ts";

await setup();
