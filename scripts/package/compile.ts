/** Loads what the service, its tasks and the command line run: run once by root, with a folder for compiled code, after an installation. */
import "#cli/index.ts";
import "#app/plugins.ts";
import "#app/updates.ts";
import "#app/serve.ts";
import "#app/operation.ts";
