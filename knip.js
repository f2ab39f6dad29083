// What nothing uses. A run with --production does not count what tests use.
const isProduction = process.argv.includes("--production");

export default {
  entry: [
    "src/encoder/process/parent-watch.ts!",
    "src/encoder/onnx/child/start.ts!",
    "src/train/fit/fit-worker.ts!",
    "src/answer/schema-thread.ts!",
    "test/**/*.test.ts",
    "test/bench/**/*.ts",
    "test/soak/*.ts",
    "test/support/**/*-{process,child}.ts",
    "test/support/{run,make-selftest,configuration-page,wasm-bytes}.ts",
  ],
  project: ["src/**/*.ts!", "test/**/*.ts"],
  ignoreBinaries: ["mkfifo", "prlimit"],
  // a test may look into a file: production's run passes over exports that their own file uses
  ignoreExportsUsedInFile: isProduction || { interface: true, type: true },
};
