/** Loads what the service, its tasks and the command line run: run once by root, with a folder for compiled code, after an installation. */
import "../../src/command-line.ts";
import "../../src/local-commands.ts";
