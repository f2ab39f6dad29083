// Preloaded into a server whose memory is measured: on SIGUSR2 it collects its garbage, so that what stays is
// held.
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";

setFlagsFromString("--expose-gc");
const collect = runInNewContext("gc") as () => void;
// with an argument it would collect the young generation only
process.on("SIGUSR2", () => collect());
