// A thread of a child: ends the process when its parent has ended, even while it is busy.
import { Socket } from "node:net";
import { lifeline } from "./lifeline.js";

const end = () => process.kill(process.pid, "SIGKILL");
new Socket({ fd: lifeline }).on("error", end).on("close", end).resume();
