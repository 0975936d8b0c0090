// node axpy.mjs WEBGPU-PACKAGE [labels]: y = 2 x + i, 50 times over on the device with Dawn, then read back. Prints one
// JSON object. "labels" has Dawn hand the names of its objects on to the driver.
import { resolve } from 'node:path';
import { pathToFileURL } from 'node:url';

const [folder, labels] = process.argv.slice(2);
const { create, globals } = await import(pathToFileURL(resolve(folder, 'index.js')));
Object.assign(globalThis, globals);

const kCount = 1 << 12;
const kRounds = 50;
const kBytes = 4 * kCount;
const kShader = `
@group(0) @binding(0) var<storage, read_write> y: array<f32>;
@compute @workgroup_size(64)
fn axpy(@builtin(global_invocation_id) id: vec3u) { y[id.x] = y[id.x] * 0.5 + f32(id.x); }`;

const options = ['backend=vulkan'];
if (labels === 'labels') options.push('enable-dawn-features=use_user_defined_labels_in_backend');
let gpu = create(options);
const adapter = await gpu.requestAdapter();
if (adapter === null) throw new Error('Dawn takes no Vulkan device here');
const device = await adapter.requestDevice();

const y = device.createBuffer({ label: 'y', size: kBytes, usage: GPUBufferUsage.STORAGE | GPUBufferUsage.COPY_SRC });
const result = device.createBuffer({ label: 'result', size: kBytes, usage: GPUBufferUsage.MAP_READ | GPUBufferUsage.COPY_DST });
const module = device.createShaderModule({ label: 'axpy module', code: kShader });
const pipeline = device.createComputePipeline({ label: 'axpy', layout: 'auto', compute: { module, entryPoint: 'axpy' } });
const group = device.createBindGroup({
  layout: pipeline.getBindGroupLayout(0),
  entries: [{ binding: 0, resource: { buffer: y } }],
});

for (let round = 0; round < kRounds; ++round) {
  const encoder = device.createCommandEncoder({ label: `round ${round}` });
  const pass = encoder.beginComputePass({ label: 'halve and add' });
  pass.setPipeline(pipeline);
  pass.setBindGroup(0, group);
  pass.dispatchWorkgroups(kCount / 64);
  pass.end();
  if (round === kRounds - 1) encoder.copyBufferToBuffer(y, 0, result, 0, kBytes);
  device.queue.submit([encoder.finish()]);
}
await result.mapAsync(GPUMapMode.READ);
const values = new Float32Array(result.getMappedRange());
const sum = values.reduce((total, value) => total + value, 0);
console.log(JSON.stringify({ rounds: kRounds, last: values[kCount - 1], sum }));
device.destroy();
gpu = null;    // Dawn keeps the process alive as long as it lives
