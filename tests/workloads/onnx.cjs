// node onnx.cjs NODE_MODULES MODEL.onnx PROVIDER RUNS [INPUT=D,D,...]...: runs a model on the same inputs RUNS times.
// Prints one JSON object: by output, its dimensions and values. Dimensions that the model leaves open are 1 unless given.
// PROFILE=PREFIX in the environment turns ONNX Runtime's own profiler on, which makes query pools of its own.
const { resolve } = require('node:path');

const [folder, model, provider, runs, ...shapes] = process.argv.slice(2);
const { InferenceSession, Tensor } = require(resolve(folder, 'onnxruntime-node'));
const given = Object.fromEntries(shapes.map((text) => text.split('=')));

// The same numbers on every machine: a linear congruential generator, as floats in [-0.5, 0.5).
function numbers(count) {
  let state = 1;
  return Float32Array.from({ length: count }, () => {
    state = (Math.imul(state, 1103515245) + 12345) & 0x7fffffff;
    return state / 0x80000000 - 0.5;
  });
}

function input(description) {
  const shape = given[description.name]
    ? given[description.name].split(',').map(Number)
    : description.shape.map((size) => (typeof size === 'number' && size > 0 ? size : 1));
  const count = shape.reduce((product, size) => product * size, 1);
  if (description.type === 'int64') return new Tensor('int64', new BigInt64Array(count).fill(16000n), shape);
  return new Tensor('float32', numbers(count), shape);
}

async function main() {
  const options = { executionProviders: [provider], logSeverityLevel: 3 };
  if (process.env.PROFILE) Object.assign(options, { enableProfiling: true, profileFilePrefix: process.env.PROFILE });
  const session = await InferenceSession.create(model, options);
  const feeds = Object.fromEntries(session.inputMetadata.map((each) => [each.name, input(each)]));
  let outputs;
  for (let run = 0; run < Number(runs); ++run) outputs = await session.run(feeds);
  if (process.env.PROFILE) session.endProfiling();
  await session.release();
  const said = Object.entries(outputs).map(([name, { dims, data }]) => [name, { dims, data: Array.from(data, Number) }]);
  console.log(JSON.stringify(Object.fromEntries(said)));
}

main().catch((error) => {
  console.error(error.message);
  process.exitCode = 1;
});
