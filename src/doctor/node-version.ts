// Whether this Node is new enough for the project.

/** @param wanted a lower bound such as `>=20.19` */
export function isNewEnough(version: string, wanted: string): boolean {
  const [major = 0, minor = 0] = numbersOf(version);
  const [wantedMajor = 0, wantedMinor = 0] = numbersOf(wanted);
  return major > wantedMajor || (major === wantedMajor && minor >= wantedMinor);
}

function numbersOf(version: string): number[] {
  return version.replace(/^\D+/, "").split(".").map(Number);
}
