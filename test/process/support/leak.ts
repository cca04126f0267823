/** What an answer must never show: a stack, a file of the program, a module of Node. */
export const leak = /node:|node_modules|\.[cm]?[jt]s:\d|\n\s+at |\/src\//;
