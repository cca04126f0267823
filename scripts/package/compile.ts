/** Loads what the service, its tasks and the command line run: run once by root, with a folder for compiled code, after an installation. */
import "#cli/index.ts";
import "#host/plugins.ts";
import "#host/updates.ts";
import "../../src/serve.ts";
import "../../src/task.ts";
