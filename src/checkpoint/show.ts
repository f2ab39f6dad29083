// How a message shows a name that a file gives.

/** The name in quotes, cut to 80 characters and without characters that could break or move a line. */
export function show(name: string): string {
  return `"${name.slice(0, 80).replace(/[\p{C}\p{Zl}\p{Zp}]/gu, "")}"`;
}
