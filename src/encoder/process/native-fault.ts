// Says in a line, with the remedy, why onnxruntime cannot be loaded.
import { JudgeError } from "../../errors.js";

const longestReason = 200;

/** What `load` imports; a native part that cannot be loaded is a JudgeError `encoder`. */
export async function importNative<T>(load: () => Promise<T>): Promise<T> {
  try {
    return await load();
  } catch (error) {
    throw nativeFault(error as NodeJS.ErrnoException) ?? error;
  }
}

/** null for a fault of another kind */
export function nativeFault(error: NodeJS.ErrnoException): JudgeError | null {
  const remedy = remedyOf(error);
  if (remedy === null) return null;
  // without the folders: a message tells no paths
  const reason = error.message
    .split("\n")[0]!
    .replace(/[^\s'"()]*[\\/]([^\s'"()\\/]+)/g, "$1")
    .slice(0, longestReason);
  return new JudgeError("encoder", {
    found: `onnxruntime cannot be loaded: ${reason}`,
    remedy,
    cause: error,
  });
}

function remedyOf({ code, message }: NodeJS.ErrnoException): string | null {
  if (code === "ERR_DLOPEN_FAILED") {
    return "it needs glibc, which Alpine's musl is not, and the libraries that it names: use an image such as node:20-slim, install what is missing, or run npm ci again where a file is damaged";
  }
  if (code === "MODULE_NOT_FOUND" && /onnxruntime_binding/.test(message)) {
    return "it is made for Linux with glibc, macOS and Windows, on x64 and arm64: use one of these";
  }
  return code === "MODULE_NOT_FOUND" || code === "ERR_MODULE_NOT_FOUND" ? "run npm ci" : null;
}
