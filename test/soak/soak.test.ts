// `npm run test:soak`: real server processes under faults and load, one part after the other within ten
// minutes, or within two with `--minutes 2`. The verdicts do not depend on how fast the machine is.
import { test } from "node:test";
import { killEncoders, starveEncoder, stopEncoder } from "./encoder-death.js";
import { holdMemory } from "./flat-memory.js";
import { keepSockets } from "./kept-sockets.js";
import { passMidnight } from "./midnight.js";
import { mixLengths } from "./mixed-lengths.js";
import { minutes, seed, shareOfTime } from "./plan.js";
import { reloadThenEnd } from "./signals.js";
import { slowDown } from "./slow-clients.js";
import { fallSilent, stormReloads } from "./storms.js";
import { vanishClients } from "./vanishing.js";

const isLong = minutes >= 5;
const memory = isLong
  ? ({ requests: 20_000, warmUp: 5000, watched: "resident" } as const)
  : ({ requests: 4000, warmUp: 2000, watched: "live" } as const);

test("the encoder is killed every two seconds", (context) => killEncoders(context, shareOfTime(0.1), seed));
test("the encoder hangs", (context) => stopEncoder(context, seed, isLong));
test("the encoder runs out of memory", (context) => starveEncoder(context));
test("reloads under load, and SIGTERM at the end", (context) =>
  reloadThenEnd(context, shareOfTime(0.05), seed));
test("chats of 2 to 8,000 characters beside clients in bulk", (context) =>
  mixLengths(context, shareOfTime(0.15), seed));
test("midnight passes over a chat template that prints the date", (context) =>
  passMidnight(context, shareOfTime(0.05), seed));
test("a storm of reloads", (context) => stormReloads(context, shareOfTime(0.03), seed));
test("more silent connections than there are places", (context) => fallSilent(context, shareOfTime(0.02)));
test("500 clients vanish", (context) => vanishClients(context, 500, seed));
test("slow writers and slow readers", (context) => slowDown(context, shareOfTime(0.05), seed));
test("kept sockets with idle gaps", (context) => keepSockets(context, shareOfTime(0.05), seed));
test(`memory is flat over ${memory.requests} requests`, (context) =>
  holdMemory(context, { ...memory, limitMs: shareOfTime(0.5), seed }));
