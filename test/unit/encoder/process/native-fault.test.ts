// What a system that cannot load onnxruntime is told.
import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { importNative, nativeFault } from "../../../../src/encoder/process/native-fault.js";
import { rejection } from "../../../support/refusal.js";

const fault = (code: string, message: string) => Object.assign(new Error(message), { code });

describe("onnxruntime that cannot be loaded is named, with what to do, without folders", () => {
  const cases: Readonly<Record<string, readonly [error: Error, message: RegExp]>> = {
    musl: [
      fault(
        "ERR_DLOPEN_FAILED",
        "Error loading shared library ld-linux-x86-64.so.2: No such file or directory (needed by /app/node_modules/onnxruntime-node/bin/napi-v6/linux/x64/libonnxruntime.so.1)",
      ),
      /^onnxruntime cannot be loaded: Error loading shared library ld-linux-x86-64\.so\.2: No such file or directory \(needed by libonnxruntime\.so\.1\); it needs glibc, which Alpine's musl is not/,
    ],
    "an old glibc": [
      fault(
        "ERR_DLOPEN_FAILED",
        "/lib/x86_64-linux-gnu/libc.so.6: version `GLIBC_2.34' not found (required by /app/libonnxruntime.so.1)",
      ),
      /^onnxruntime cannot be loaded: libc\.so\.6: version `GLIBC_2\.34' not found \(required by libonnxruntime\.so\.1\); /,
    ],
    "a system without a build": [
      fault(
        "MODULE_NOT_FOUND",
        "Cannot find module '../bin/napi-v6/linux/riscv64/onnxruntime_binding.node'\nRequire stack:\n- /app/x.js",
      ),
      /^onnxruntime cannot be loaded: Cannot find module 'onnxruntime_binding\.node'; it is made for Linux with glibc/,
    ],
    "a package that was not installed": [
      fault(
        "ERR_MODULE_NOT_FOUND",
        "Cannot find package 'onnxruntime-node' imported from /app/dist/src/x.js",
      ),
      /^onnxruntime cannot be loaded: Cannot find package 'onnxruntime-node' imported from x\.js; run npm ci$/,
    ],
  };
  for (const [name, [error, message]] of Object.entries(cases)) {
    test(name, async () => {
      const found = await rejection(
        "encoder",
        importNative(() => Promise.reject(error)),
      );
      assert.match(found.message, message);
      assert.equal(found.cause, error);
    });
  }

  test("a fault of another kind stays what it is", async () => {
    const error = new TypeError("x is not a function");
    assert.equal(nativeFault(error), null);
    await assert.rejects(
      importNative(() => Promise.reject(error)),
      error,
    );
  });
});
