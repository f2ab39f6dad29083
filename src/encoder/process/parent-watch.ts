// A thread of a child: ends the process when the parent has ended, even while the process is busy and sees no
// event.
import { Socket } from "node:net";
import { lifeline } from "./lifeline.js";

const end = () => process.kill(process.pid, "SIGKILL");
new Socket({ fd: lifeline }).on("error", end).on("close", end).resume();
